"""The Dockerfile's steps, done without Docker: by a shell, with the image's files in a folder."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STEPS = [
    line.split(" ", 1)
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def told(kind: str) -> list[str]:
    return [text for step, text in STEPS if step == kind]


def test_another_user_than_root_owns_the_commands() -> None:
    kinds = [kind for kind, _ in STEPS]
    assert told("FROM") == ["python:3.11-slim"]
    assert set(kinds) <= {"FROM", "ARG", "COPY", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert kinds.index("USER") < STEPS.index(["RUN", "nap warmup"]) < kinds.index("ENTRYPOINT")


NOBODY = 65534


def python_of_everybody() -> str | None:
    """Return a Python that another user may run, too."""
    for python in (sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            if not subprocess.run([python, "-c", ""], user=NOBODY, check=False).returncode:
                return python
    return None


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root for a user")
def test_steps_make_what_plays_at_once() -> None:
    """As another user, who can write nowhere but at home, on packages that belong to root."""
    interpreter = python_of_everybody()
    if interpreter is None:
        pytest.skip("another user can run no Python here")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to other users
        take_the_steps(Path(folder), interpreter)


def take_the_steps(image: Path, interpreter: str) -> None:
    image.chmod(0o755)
    home, source, python = image / "home", image / "src", image / "python"
    home.mkdir()
    subprocess.run([interpreter, "-m", "venv", str(python)], check=True)
    environment = {
        "PATH": f"{python / 'bin'}:{os.environ['PATH']}",
        "HOME": str(image),
        "EXTRAS": "",
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL"))},
    }
    user: int | None = None

    def run(command: str | list[str]) -> str:
        done = subprocess.run(
            command, shell=isinstance(command, str), cwd=home, env=environment, user=user,
            group=user, extra_groups=() if user else None, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    for step, text in STEPS:
        if step == "COPY":
            tracked = subprocess.run(
                ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
            ).stdout.split("\0")
            for name in filter(None, tracked):
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, source / name)
        elif step == "USER":
            user, environment["HOME"] = NOBODY, str(home)
            shutil.chown(home, user, user)
        elif step == "RUN" and "useradd" not in text:
            run(re.sub(r"/src\b", str(source), text))
    (entry,) = (json.loads(text) for text in told("ENTRYPOINT"))
    caches = [path for path in image.rglob("*.nbc")]
    assert caches and all(path.is_relative_to(home) for path in caches)
    assert run([*entry, "--version"]).startswith("nap_env ")
    assert "-- deal 1 --" in run([*entry, "play", "--watch", "--seed", "1"])
    assert [path for path in image.rglob("*.nbc") if path not in caches] == []
