"""Describe the commands in the manual as `--help` does.

cliff creates the commands without their names, parses the text below the arguments as
reStructuredText, and shows an argument without a metavariable as <NAME>.
"""

import argparse

from sphinx.application import Sphinx

from placement_worker.cmd.base import LocalCommand

epilog = LocalCommand.get_epilog
get_parser = LocalCommand.get_parser


def literal(command: LocalCommand) -> str:
    """Return the epilog of `--help` with its examples as a literal block."""
    return epilog(command).replace('Examples:\n', 'Examples::\n\n', 1)


def described(command: LocalCommand, prog_name: str) -> argparse.ArgumentParser:
    """Return the parser of a command with its summary and with metavariables as in its usage."""
    command.cmd_name = prog_name.partition(' ')[2]
    parser = get_parser(command, prog_name)
    for action in parser._actions:  # noqa: SLF001  # argparse has no public list
        if action.nargs != 0 and action.metavar in (None, '<integer>'):
            values = ','.join(action.choices or ())
            action.metavar = f'{{{values}}}' if values else action.dest.upper()
    return parser


def setup(_app: Sphinx) -> dict[str, bool]:
    """Replace the methods while Sphinx builds the manual."""
    LocalCommand.get_epilog = literal  # type: ignore[method-assign]
    LocalCommand.get_parser = described  # type: ignore[method-assign]
    return {'parallel_read_safe': True}
