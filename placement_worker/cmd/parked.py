"""The commands `placement-policy parked list`, `show`, `retry` and `drop`."""

import argparse
import datetime
import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import (
    output,
    parked_messages,
    retry_warnings,
    targets,
    threading_backend,
)
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.formats.text import escaped, escaped_lines

MAX_PARKED = 1000  # parked requests to read


class ParkedCommand(LocalCommand):
    """A command on the parking lot, the queue of parked requests."""

    epilog = 'Exit status: 0 success, 2 failure.'

    @override
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--transport',
            metavar='URL',
            help='URL of the broker; default: transport_url in the file of --config-file',
        )
        parser.add_argument(
            '--config-file',
            metavar='FILE',
            help='configuration of the operators; without this option, no file is read',
        )
        return parser

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        targets.require_broker(parsed_args, str(self.cmd_name))
        threading_backend.choose()
        from placement_worker.cmd import remote  # noqa: PLC0415  # slow: imports oslo.messaging

        with remote.parked(parsed_args.transport, parsed_args.config_file, MAX_PARKED) as (
            connection,
            parked,
        ):
            return self.run_with(connection, parked, parsed_args)

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        pass

    @abstractmethod
    def run_with(self, connection: Any, parked: Iterator[Any], args: argparse.Namespace) -> int:
        """Run the command on the parked requests, and return the exit status."""


class ParkedList(ParkedCommand):
    """The command `parked list`."""

    examples = ('placement-policy parked list --config-file /etc/placement-worker/operator.conf',)

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        output.add_format_argument(parser)

    @override
    def run_with(self, connection: Any, parked: Iterator[Any], args: argparse.Namespace) -> int:
        rows = [parked_messages.row(one) for one in parked]
        if args.format != 'table':
            self.write(output.document(rows, args.format))
        else:
            shown = [parked_messages.table_row(row) for row in rows]
            self.write(output.table(shown) if shown else 'No parked requests.')
        return OK


class ParkedShow(ParkedCommand):
    """The command `parked show`."""

    examples = ('placement-policy parked show ID --transport rabbit://user:password@host/',)

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('id', metavar='ID', help='an ID from parked list')

    @override
    def run_with(self, connection: Any, parked: Iterator[Any], args: argparse.Namespace) -> int:
        try:
            body = _find(parked, args.id).body
            shown = json.dumps(parked_messages.without_secrets(body), indent=2)
        except RecursionError:
            raise errors.InvalidRequest(
                f'Request {args.id} is nested too deeply to show; run "placement-policy parked '
                f'drop {args.id}" to delete it'
            ) from None
        self.write(escaped_lines(shown))
        return OK


class ParkedRetry(ParkedCommand):
    """The command `parked retry`."""

    examples = (
        'placement-policy parked retry ID --config-file /etc/placement-worker/operator.conf',
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('id', metavar='ID', help='an ID from parked list')
        parser.add_argument(
            '--force', action='store_true', help='send the request also if a warning advises not to'
        )

    @override
    def run_with(self, connection: Any, parked: Iterator[Any], args: argparse.Namespace) -> int:
        from placement_worker.late_ack import parking  # noqa: PLC0415

        one = _find(parked, args.id)
        method, request = parked_messages.call(one.body)
        now = datetime.datetime.now(datetime.UTC)
        warnings = list(retry_warnings.of(method, request, now))
        for warning in warnings:
            self.write_error(f'Warning: {warning}')
        if warnings and not args.force:
            return self.write_error(f'Did not send {one.id}; to send it all the same, add --force')
        try:
            parking.retry(connection, one)
        except ValueError as exc:
            raise errors.InvalidRequest(
                f'{exc}; run "placement-policy parked show {one.id}", then publish it again or '
                'drop it'
            ) from exc
        self.write(escaped(f'Sent {one.id} to {one.topic}; if it is parked again, its ID changes.'))
        return OK


class ParkedDrop(ParkedCommand):
    """The command `parked drop`."""

    examples = (
        'placement-policy parked drop ID --config-file /etc/placement-worker/operator.conf',
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('id', metavar='ID', help='an ID from parked list')

    @override
    def run_with(self, connection: Any, parked: Iterator[Any], args: argparse.Namespace) -> int:
        one = _find(parked, args.id)
        one.message.ack()
        self.write(escaped(f'Deleted {one.id}.'))
        return OK


def _find(parked: Iterator[Any], wanted: str) -> Any:
    for one in parked:
        if one.id == wanted:
            return one
    raise errors.InvalidRequest(
        f'No parked request {wanted}; run "placement-policy parked list" for the parked requests'
    )
