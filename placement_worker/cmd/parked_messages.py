"""The messages of parked requests, as the commands of `placement-policy parked` show them."""

import json
from collections.abc import Mapping
from typing import Any

from placement_worker.decisions import masking

NOT_BY_A_WORKER = '(not parked by a worker)'
CONTEXT = '_context_'  # the prefix of the caller's context in a message of oslo.messaging


def row(one: Any) -> dict[str, Any]:
    """Return the columns of a parked request; None for what the message lacks."""
    message = _decoded(one.body)
    method, request = call(one.body)
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
        'clusters': _clusters(request),
        'policy': _value(policy, 'id'),
        'expires_at': expires_at,
        'bytes': len(one.body),
    }


def table_row(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of `row` that a table shows, so that it fits on a screen."""
    return {
        'id': columns['id'],
        'parked_at': columns['parked_at'] or NOT_BY_A_WORKER,
        'request': columns['action'] or columns['method'],
        'cluster': columns['clusters'] or None,
    }


def _clusters(request: Any) -> list[str]:
    """Return the name, else the id, of the cluster of a request, as a list."""
    cluster = _value(request, 'cluster')
    name = _value(cluster, 'name') or _value(cluster, 'id')
    return [name] if isinstance(name, str) else []


def call(body: Any) -> tuple[Any, Any]:
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


def without_secrets(body: Any) -> Any:
    """Return the message of an envelope with secrets masked as in the decision log.

    Of the caller's context, only the ids are kept.
    """
    message = _decoded(body)
    if isinstance(message, dict):
        kept = (key for key in message if not key.startswith(CONTEXT) or key.endswith('_id'))
        message = {key: message[key] for key in kept}
    return masking.without_secrets(message)
