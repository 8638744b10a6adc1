"""The commands `placement-policy parked list`, `show`, `retry` and `drop`."""

import argparse
import datetime
import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import output, retry_warnings, targets, threading_backend
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.decisions import masking
from placement_worker.formats.text import escaped, escaped_lines

MAX_PARKED = 1000  # parked requests to read
NOT_BY_A_WORKER = '(not parked by a worker)'
CONTEXT = '_context_'  # the prefix of the caller's context in a message of oslo.messaging


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
        rows = [_row(one) for one in parked]
        if args.format != 'table':
            self.write(output.document(rows, args.format))
        else:
            shown = [{**row, 'parked_at': row['parked_at'] or NOT_BY_A_WORKER} for row in rows]
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
            shown = json.dumps(_without_secrets(_decoded(_find(parked, args.id).body)), indent=2)
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

    @override
    def run_with(self, connection: Any, parked: Iterator[Any], args: argparse.Namespace) -> int:
        from placement_worker.messaging import parking  # noqa: PLC0415

        one = _find(parked, args.id)
        method, request = _call(one.body)
        for warning in retry_warnings.of(method, request, datetime.datetime.now(datetime.UTC)):
            self.write_error(f'Warning: {warning}')
        parking.retry(connection, one)
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


def _row(one: Any) -> dict[str, Any]:
    message = _decoded(one.body)
    method, request = _call(one.body)
    action, cluster, policy, expires_at = (
        _value(request, key) for key in ('action', 'cluster', 'policy', 'expires_at')
    )
    return {
        'id': one.id,
        'parked_at': one.parked_at,
        'topic': one.topic,
        'method': method,
        'request_id': _value(message, '_context_request_id'),
        'action': _value(action, 'action'),
        'action_id': _value(action, 'id'),
        'cluster': _value(cluster, 'id'),
        'cluster_name': _value(cluster, 'name'),
        'project': _value(cluster, 'project'),
        'policy': _value(policy, 'id'),
        'expires_at': expires_at,
        'bytes': len(one.body),
    }


def _call(body: Any) -> tuple[Any, Any]:
    """Return the method and the request of a message; None for a part that it lacks."""
    message = _decoded(body)
    sent: Any = message.get('args') if isinstance(message, dict) else None
    return _value(message, 'method'), sent.get('request') if isinstance(sent, dict) else None


def _value(data: Any, key: str) -> Any:
    """Return an item of a map, or None; escape lone surrogates, which UTF-8 cannot encode."""
    value = data.get(key) if isinstance(data, dict) else None
    return value.encode(errors='backslashreplace').decode() if isinstance(value, str) else value


def _decoded(body: Any) -> Any:
    """Return the message of an envelope with its request decoded, as far as they are readable."""
    message = _json(body)
    if isinstance(message, dict) and 'oslo.message' in message:
        message = _json(message['oslo.message'])
    if isinstance(message, dict) and isinstance(message.get('args'), dict):
        message = {
            **message,
            'args': {name: _json(value) for name, value in message['args'].items()},
        }
    return message


def _json(value: Any) -> Any:
    """Return the data of a JSON text; other text stays, or is masked if it may hold secrets."""
    text = value.decode(errors='replace') if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return masking.MASK if masking.may_hold_secrets(text.encode(errors='replace')) else text


def _without_secrets(message: Any) -> Any:
    """Mask secrets as in the decision log, and keep only the ids of the caller's context."""
    if isinstance(message, dict):
        kept = (key for key in message if not key.startswith(CONTEXT) or key.endswith('_id'))
        message = {key: message[key] for key in kept}
    return masking.without_secrets(message)
