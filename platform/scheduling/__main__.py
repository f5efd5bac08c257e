"""`python -m scheduling`: plays case files, replays traces, measures the engine. One module per command."""

import argparse
import sys
from collections.abc import Sequence

from scheduling import bench_command
from scheduling.cases import command as cases_command
from scheduling.simulation import command as replay_command

COMMANDS = {"cases": cases_command, "replay": replay_command, "bench": bench_command}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; what is asked for wrongly is 2."""
    parser = argparse.ArgumentParser(prog="python -m scheduling", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="|".join(COMMANDS))
    for name, module in COMMANDS.items():
        about = (module.__doc__ or "").strip()
        command = commands.add_parser(
            name,
            help=about.splitlines()[0],
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
    args = parser.parse_args(arguments)
    status: int = COMMANDS[args.command].run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
