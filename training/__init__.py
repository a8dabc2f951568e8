"""PPO self-play on `nap_env.Batch`, and how strong what it makes is."""

import sys
from importlib.util import find_spec

NEEDED = (
    *("filelock", "matplotlib", "safetensors", "scipy"),
    *("tensorboard", "torch", "tyro", "yaml"),
)
"""What the extra `train` installs."""

_missing = [name for name in NEEDED if find_spec(name) is None]
if _missing:
    _message = f'training needs {", ".join(_missing)}: pip install "nap_env[train]"'
    if sys.argv[0] == "-m":  # `python -m` looks for one of our commands
        print(_message, file=sys.stderr)
        sys.exit(2)
    raise ModuleNotFoundError(_message, name=_missing[0])
