"""The option that names decision logs, and the messages about their lines that are skipped."""

import argparse

from placement_worker.cmd.base import LocalCommand
from placement_worker.formats.text import counted

MAX_SHOWN = 5
"""The number of skipped lines that have a message of their own."""

NOT_FOUND = (
    'name the logs of all workers with their rotated files; a request that was refused, failed, '
    'was parked or reached no worker has no decision: look for its cluster in the log of each '
    'worker (journalctl --unit placement-worker) and in "placement-policy parked list"'
)
"""The advice if the logs lack a decision."""


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the logs to read, as `logs`."""
    parser.add_argument(
        '--log',
        dest='logs',
        metavar='FILE',
        nargs='+',
        required=True,
        help='decision logs of all workers in any order, compressed by gzip or not',
    )


class SkippedLines:
    """Report the first skipped lines of decision logs one by one, and the number of the others.

    :ivar number: the number of skipped lines.
    """

    def __init__(self, command: LocalCommand) -> None:
        self._command = command
        self.number = 0

    def skip(self, path: str, number: int, error: str) -> None:
        """Count a line, and report it if it is one of the first."""
        self.number += 1
        if self.number <= MAX_SHOWN:
            self._command.write_error(f'{path}, line {number}: {error.rstrip()}; skipped the line')

    def summarize(self) -> None:
        """Report the number of lines that have no message of their own."""
        if self.number > MAX_SHOWN:
            more = counted(self.number - MAX_SHOWN, 'more line')
            self._command.write_error(f'Skipped {more}; check that the file is a decision log')
