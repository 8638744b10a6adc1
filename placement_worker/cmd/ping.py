"""The command `placement-policy ping`."""

import argparse
import contextlib
import time

from typing_extensions import override

from placement_worker.cmd import output, targets
from placement_worker.cmd.base import OK, Command
from placement_worker.contract.caller import Caller


class Ping(Command):
    """The command `ping`."""

    examples = (
        'placement-policy ping --transport rabbit://user:password@host/',
        'placement-policy ping --config-file /etc/placement-worker/operator.conf '
        '--server HOST --timeout 5',
    )
    epilog = 'Exit status: 0 a worker replied, 2 no worker replied.'

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        targets.add_server_argument(parser)
        output.add_format_argument(parser)

    @override
    def add_target_arguments(self, parser: argparse.ArgumentParser) -> None:
        targets.add_remote_arguments(parser, calls_may_be_slow=False)

    @override
    def open_caller(self, args: argparse.Namespace) -> contextlib.AbstractContextManager[Caller]:
        targets.require_broker(args, 'ping')
        return targets.open_caller(args)

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        began = time.monotonic()  # the first call includes the connection to the broker
        answer = caller.get_capabilities()
        elapsed_ms = (time.monotonic() - began) * 1000
        row = {
            'host': answer.host,
            'hostname': answer.hostname,
            'pid': answer.pid,
            'version': answer.version,
            'started_at': answer.started_at.isoformat(timespec='seconds'),
            'elapsed_ms': round(elapsed_ms, 1),
        }
        self.write(
            output.table([row]) if args.format == 'table' else output.document(row, args.format)
        )
        return OK
