"""The command `nap`: one name for all commands of the package.

`nap train` is `python -m training.ppo`, and so on; but it never takes a folder `training` in which
it is called for ours.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any, cast

from nap_env import __version__
from nap_env.terminal import Parser, run
from nap_env.words import did_you_mean

COMMANDS = {
    "train": ("training.ppo", "train a network by self-play"),
    "evaluate": ("training.evaluate", "measure agents against each other"),
    "equilibrium": ("training.equilibrium", "solve a small game"),
    "play": ("nap_env.play", "play in the terminal, or watch agents play"),
    "report": ("training.report", "write a run as a web page"),
    "export": ("training.export", "write a run's network as an agent's file"),
    "records": ("nap_env.records", "check, show and make files of deals"),
    "presets": ("nap_env.presets", "describe the rules"),
    "warmup": ("nap_env.warmup", "compile all kernels now"),
}
"""By name: the module that is the command, and what it does."""


def _parser() -> Parser:
    rows = [f"  {name:12s}{module:22s}{does}" for name, (module, does) in COMMANDS.items()]
    parser = Parser(
        prog="nap",
        usage="nap COMMAND ...",
        description="The card game Nap for reinforcement learning.",
        epilog="\n".join(
            [
                "commands, each also as python -m and its module:",
                *rows,
                "",
                "nap COMMAND --help says what one can be told.",
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"nap_env {__version__}")
    parser.add_argument("command", metavar="COMMAND", help="see below")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the command line names; return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser()
    if not given:
        parser.print_help(sys.stderr)
        return 2
    name = parser.parse_args(given[:1]).command
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        parser.error(f"command {name!r}: there are {known}{did_you_mean(name, COMMANDS)}")
    return run(_run, name, given[1:])


def _run(name: str, arguments: Sequence[str]) -> int | None:
    try:
        module: Any = importlib.import_module(COMMANDS[name][0])
    except ModuleNotFoundError as error:
        print(f"nap {name}: {error}", file=sys.stderr)
        return 2
    return cast("int | None", module.main(arguments, prog=f"nap {name}"))


if __name__ == "__main__":
    sys.exit(main())
