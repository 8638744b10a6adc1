"""placement-policy parked list, show, retry and drop: requests that no worker could finish."""

import argparse
import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from placement_worker import errors
from placement_worker.cmd import output, threading_backend
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.decisions import masking
from placement_worker.formats.escaping import escaped, escaped_lines

MOST = 1000  # parked requests that are looked at
CONTEXT = '_context_'  # how the names of what the caller's context holds begin in a message


class ParkedCommand(LocalCommand):
    """A command on the queue of parked requests."""

    epilog = 'Exit status: 0 it was done, 2 it was not.'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The command's own arguments, where the broker is, and of which workers."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--transport', metavar='URL', help="instead of the configuration's transport_url"
        )
        parser.add_argument('--config-file', metavar='FILE', help="the workers' configuration")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Look at the queue, and do it."""
        threading_backend.choose()
        from placement_worker.cmd import remote  # noqa: PLC0415  # it imports the messaging layer

        with remote.parked(parsed_args.transport, parsed_args.config_file, MOST) as (
            connection,
            waiting,
        ):
            return self.run_with(connection, waiting, parsed_args)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command; none."""

    @abstractmethod
    def run_with(self, connection: Any, waiting: Iterator[Any], args: argparse.Namespace) -> int:
        """Do it, and return the exit status."""


class ParkedList(ParkedCommand):
    """List the requests that were parked, oldest first."""

    examples = (
        'placement-policy parked list --config-file /etc/placement-worker/placement-worker.conf',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )

    def run_with(self, connection: Any, waiting: Iterator[Any], args: argparse.Namespace) -> int:
        """Show a row a request."""
        rows = [_row(one) for one in waiting]
        if args.format != 'table':
            self.say(output.document(rows, args.format))
        else:
            self.say(output.table(rows) if rows else 'No request is parked.')
        return OK


class ParkedShow(ParkedCommand):
    """Show a parked request as it was sent, without what is secret in it."""

    examples = ('placement-policy parked show ID --transport rabbit://user:password@host/',)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument('id', metavar='ID', help='as parked list shows it')

    def run_with(self, connection: Any, waiting: Iterator[Any], args: argparse.Namespace) -> int:
        """Show its message, decoded as far as it can be."""
        try:
            shown = json.dumps(_without_secrets(_decoded(_find(waiting, args.id).body)), indent=2)
        except RecursionError:
            raise errors.InvalidRequest(
                f'Request {args.id} is nested too deeply to be shown; placement-policy parked drop deletes it'
            ) from None
        self.say(escaped_lines(shown))
        return OK


class ParkedRetry(ParkedCommand):
    """Send a parked request to the workers again."""

    examples = (
        'placement-policy parked retry ID --config-file /etc/placement-worker/placement-worker.conf',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument('id', metavar='ID', help='as parked list shows it')

    def run_with(self, connection: Any, waiting: Iterator[Any], args: argparse.Namespace) -> int:
        """It leaves the queue when the broker has confirmed that it is in the other one."""
        from placement_worker.messaging import parking  # noqa: PLC0415

        one = _find(waiting, args.id)
        parking.retry(connection, one)
        self.say(escaped(f'{one.id} was sent to {one.topic} again.'))
        return OK


class ParkedDrop(ParkedCommand):
    """Delete a parked request for good."""

    examples = (
        'placement-policy parked drop ID --config-file /etc/placement-worker/placement-worker.conf',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument('id', metavar='ID', help='as parked list shows it')

    def run_with(self, connection: Any, waiting: Iterator[Any], args: argparse.Namespace) -> int:
        """Acknowledge it."""
        one = _find(waiting, args.id)
        one.message.ack()
        self.say(escaped(f'{one.id} was dropped.'))
        return OK


def _find(waiting: Iterator[Any], wanted: str) -> Any:
    for one in waiting:
        if one.id == wanted:
            return one
    raise errors.InvalidRequest(
        f'No request {wanted} is parked; placement-policy parked list shows those that are'
    )


def _row(one: Any) -> dict[str, Any]:
    message = _decoded(one.body)
    sent: Any = message.get('args') if isinstance(message, dict) else None
    request: Any = sent.get('request') if isinstance(sent, dict) else None
    action: Any = request.get('action', {}) if isinstance(request, dict) else {}
    return {
        'id': one.id,
        'parked_at': one.parked_at,
        'topic': one.topic,
        'method': _value(message, 'method'),
        'request_id': _value(message, '_context_request_id'),
        'action': _value(action, 'action'),
        'action_id': _value(action, 'id'),
        'bytes': len(one.body),
    }


def _value(data: Any, key: str) -> Any:
    """Return an item of a map, or None; a lone surrogate, which JSON holds and UTF-8 does not, is
    escaped.
    """
    value = data.get(key) if isinstance(data, dict) else None
    return value.encode(errors='backslashreplace').decode() if isinstance(value, str) else value


def _decoded(body: Any) -> Any:
    """The message inside the envelope, and the request inside the message, where they can be
    read.
    """
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
    """What a text says; a text that is no JSON is shown as it is, unless there may be secrets in
    it.
    """
    text = value.decode(errors='replace') if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return masking.MASK if masking.may_hold_secrets(text.encode(errors='replace')) else text


def _without_secrets(message: Any) -> Any:
    """As in the decision log, and of the caller's context its ids alone."""
    if isinstance(message, dict):
        kept = (key for key in message if not key.startswith(CONTEXT) or key.endswith('_id'))
        message = {key: message[key] for key in kept}
    return masking.without_secrets(message)
