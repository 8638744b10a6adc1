"""The commands `placement-policy parked list`, `show`, `retry` and `drop`.

They work on the parking lot, the queue of requests that no worker could handle. Such a request may
be malformed or hostile, so everything is read as plain data, and secrets are masked as in the
decision log. A retry may do harm after its caller has given up, and is refused without --force.
"""

import contextlib
import datetime
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import targets
from placement_worker.cmd.base import OK, Lister, LocalCommand, ShowOne
from placement_worker.contract import rpc
from placement_worker.contract.model import in_utc
from placement_worker.decisions import masking
from placement_worker.formats.text import escaped, shortened

MAX_PARKED = 1000  # parked requests to read
_CONTEXT = '_context_'  # the prefix of the caller's context in a message of oslo.messaging


class ParkedCommand(LocalCommand):
    epilog = 'Exit status: 0 success, 2 failure.'

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument('id', metavar='ID', help='an ID from parked list')
        targets.add_broker_arguments(parser)

    @contextlib.contextmanager
    def request_of_id(self, args: Namespace) -> Iterator[tuple[Any, Any]]:
        with self.parked(args) as (connection, requests):
            for request in requests:
                if request.id == args.id:
                    yield connection, request
                    return
            raise errors.InvalidRequest(
                f'No parked request {args.id}; run "placement-policy parked list" for the parked '
                'requests'
            )

    @contextlib.contextmanager
    def parked(self, args: Namespace) -> Iterator[tuple[Any, Iterator[Any]]]:
        targets.require_broker(args, str(self.cmd_name))
        with targets.messaging().parked(args, MAX_PARKED) as opened:
            yield opened


class ParkedList(ParkedCommand, Lister):
    examples = (
        'placement-policy parked list --config-file /etc/placement-worker/operator.conf',
        'placement-policy parked list --long --sort-column cluster '
        '--transport rabbit://user:password@host/',
    )
    nothing = 'No parked requests.'
    has_more = True

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        targets.add_broker_arguments(parser)

    @override
    def rows(self, args: Namespace) -> Iterator[Mapping[str, Any]]:
        with self.parked(args) as (_, requests):
            for row in map(_row, requests):
                if self.is_long(args):
                    yield row
                else:
                    yield {
                        'id': row['id'],
                        'parked_at': row['parked_at'] or '(not parked by a worker)',
                        'request': row['action'] or row['method'],
                        'cluster': row['clusters'] or None,
                    }


class ParkedShow(ParkedCommand, ShowOne):
    examples = ('placement-policy parked show ID --transport rabbit://user:password@host/',)
    formatter_default = 'json'

    @override
    def fields(self, args: Namespace) -> Mapping[str, Any]:
        with self.request_of_id(args) as (_, request):
            message = _decoded(request.body)
        if isinstance(message, dict):  # of the caller's context, only the ids are kept
            kept = (key for key in message if not key.startswith(_CONTEXT) or key.endswith('_id'))
            message = {key: message[key] for key in kept}
        shown = masking.without_secrets(message)
        return shown if isinstance(shown, dict) else {'body': shown}


class ParkedRetry(ParkedCommand):
    examples = (
        'placement-policy parked retry ID --config-file /etc/placement-worker/operator.conf',
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            '--force', action='store_true', help='send the request also if a warning advises not to'
        )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        with self.request_of_id(parsed_args) as (connection, request):
            from placement_worker.late_ack import parking  # noqa: PLC0415  # oslo.messaging

            if warning := _retry_warning(_decoded(request.body)):
                self.write_error(f'Warning: {warning}')
                if not parsed_args.force:
                    return self.write_error(
                        f'Did not send {request.id}; to send it all the same, add --force'
                    )
            try:
                parking.retry(connection, request)
            except ValueError as exc:
                raise errors.InvalidRequest(
                    f'{exc}; run "placement-policy parked show {request.id}", then publish it '
                    'again or drop it'
                ) from exc
        self.write(
            escaped(f'Sent {request.id} to {request.topic}; if it is parked again, its ID changes.')
        )
        return OK


class ParkedDrop(ParkedCommand):
    examples = (
        'placement-policy parked drop ID --config-file /etc/placement-worker/operator.conf',
    )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        with self.request_of_id(parsed_args) as (_, request):
            request.message.ack()
        self.write(escaped(f'Deleted {parsed_args.id}.'))
        return OK


def _row(parked: Any) -> dict[str, Any]:
    message = _decoded(parked.body)
    request = _request(message)
    action, cluster, policy = (_value(request, key) for key in ('action', 'cluster', 'policy'))
    name = _value(cluster, 'name') or _value(cluster, 'id')
    return {
        'id': parked.id,
        'parked_at': parked.parked_at,
        'topic': parked.topic,
        'method': _label(message, 'method'),
        'request_id': _label(message, '_context_request_id'),
        'action': _label(action, 'action'),
        'action_id': _label(action, 'id'),
        'cluster': _label(cluster, 'id'),
        'cluster_name': _label(cluster, 'name'),
        'project': _label(cluster, 'project'),
        'clusters': [name] if isinstance(name, str) else [],
        'policy': _label(policy, 'id'),
        'expires_at': _label(request, 'expires_at'),
        'bytes': len(parked.body),
    }


def _request(message: Any) -> Any:
    return _value(_value(message, 'args'), 'request')


def _value(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _label(data: Any, key: str) -> str | None:
    """Return a text or None; another value, which may be nested, as a short text."""
    value = _value(data, key)
    return value if value is None or isinstance(value, str) else shortened(json.dumps(value))


def _decoded(body: Any) -> Any:
    message = _json(body)
    if isinstance(message, dict) and 'oslo.message' in message:
        message = _json(message['oslo.message'])
    if isinstance(message, dict) and isinstance(message.get('args'), dict):
        arguments = {name: _json(value) for name, value in message['args'].items()}
        message = {**message, 'args': arguments}
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


def _retry_warning(message: Any) -> str | None:
    """Return the reason not to retry; malformed values count as absent."""
    method, request = _value(message, 'method'), _request(message)
    expires_at, now = _value(request, 'expires_at'), datetime.datetime.now(datetime.UTC)
    with contextlib.suppress(ValueError):
        if in_utc(datetime.datetime.fromisoformat(str(expires_at))) < now:
            return (
                f'The request expired at {expires_at}, so a worker only replies with '
                '"Request expired"; drop such a request'
            )
    if method == rpc.POLICY_CHECK.name and _value(request, 'target') == 'BEFORE':
        return (
            'This is a check BEFORE an action, whose engine has got RequestParked and does not '
            'carry it out. Load balancing may remove nodes that stay alive from their pool; drop '
            'such a request, and repeat the action'
        )
    if method in (rpc.POLICY_ATTACH.name, rpc.POLICY_DETACH.name):
        return (
            f'The caller of {method} has got RequestParked, and does not know a load balancer '
            'that a worker creates or deletes; drop such a request, and repeat it in the engine'
        )
    return None
