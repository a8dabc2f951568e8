"""The command `nap`: one name for all commands of the package.

`nap train` is `python -m training.ppo`, and so on; but it never takes a folder `training` in which
it is called for ours.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from nap_env import __version__

COMMANDS = {
    "train": ("training.ppo", "train a network by self-play"),
    "evaluate": ("training.evaluate", "measure agents against each other"),
    "play": ("nap_env.play", "play in the terminal, or watch agents play"),
    "report": ("training.report", "write a run as a web page"),
    "export": ("training.export", "write a run's network as an agent's file"),
    "records": ("nap_env.records", "check, show and make files of deals"),
    "presets": ("nap_env.presets", "describe the rules"),
    "warmup": ("nap_env.warmup", "compile now what is else compiled when it is needed"),
}
"""By name: the module that is the command, and what it does."""


def _parser() -> argparse.ArgumentParser:
    rows = [f"  {name:10s}{does} (python -m {module})" for name, (module, does) in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="nap",
        usage="nap COMMAND ...",
        description="The card game Nap for reinforcement learning.",
        epilog="\n".join(["commands:", *rows, "", "nap COMMAND --help says what one can be told."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"nap_env {__version__}")
    parser.add_argument("command", choices=list(COMMANDS), metavar="COMMAND", help="see below")
    return parser


def main(arguments: Sequence[str] | None = None) -> int | None:
    """Run the command that the command line names; return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    if not given:
        parser.print_help(sys.stderr)
        return 2
    name = parser.parse_args(given[:1]).command
    try:
        module = importlib.import_module(COMMANDS[name][0])
    except ModuleNotFoundError as error:
        parser.exit(2, f"nap {name}: {error}\n")
    try:
        status: int | None = module.main(given[1:], prog=f"nap {name}")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    return status
