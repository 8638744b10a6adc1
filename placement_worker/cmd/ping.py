"""placement-policy ping."""

import argparse
import contextlib
import time

from placement_worker import errors
from placement_worker.cmd import output, targets
from placement_worker.cmd.base import OK, Command
from placement_worker.contract.caller import Caller


class Ping(Command):
    """See whether running workers answer: any of them, or the one on a host."""

    examples = (
        'placement-policy ping --transport rabbit://user:password@host/',
        'placement-policy ping --config-file /etc/placement-worker/placement-worker.conf --server HOST --timeout 5',
    )
    epilog = 'Exit status: 0 a worker answered, 2 none did.'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            '--server', metavar='HOST', help='the one worker to ask, by its [worker] host'
        )
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )

    def add_who_answers(self, parser: argparse.ArgumentParser) -> None:
        """Running workers only."""
        targets.add_remote_arguments(parser)

    def answering(self, args: argparse.Namespace) -> contextlib.AbstractContextManager[Caller]:
        """A running worker.

        :raises ConfigurationError: none is named.
        """
        if args.transport is None and args.config_file is None:
            raise errors.ConfigurationError(
                'It is not said which workers to ask: name the running ones with --transport or --config-file; '
                'placement-policy ping --help shows how'
            )
        return targets.by(args)

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Ask who it is, and show that with the time it took, connecting included."""
        began = time.monotonic()
        answer = caller.get_capabilities()
        elapsed_ms = (time.monotonic() - began) * 1000
        row = {
            'hostname': answer.hostname,
            'pid': answer.pid,
            'version': answer.version,
            'started_at': answer.started_at.isoformat(timespec='seconds'),
            'elapsed_ms': round(elapsed_ms, 1),
        }
        self.say(
            output.table([row]) if args.format == 'table' else output.document(row, args.format)
        )
        return OK
