"""Values of a request that the contract allows, but that are probably misspelled.

The contract allows any status and any cause, because engines may have their own. Policies compare
them with few values only: a misspelled status makes an unhealthy node healthy.
"""

import json
from collections.abc import Iterator
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.model import CheckRequest, Cluster, ProfileContext
from placement_worker.formats.text import did_you_mean, listed, nearest, shortened
from placement_worker.handlers.request_validation import KNOWN_STATUSES, meant_status

# The causes of an action: senlin/common/consts.py of Senlin 16.
CAUSES = ('RPC Request', actions.DERIVED, 'Derived Action with Lifecycle Hook')


def describe(request: CheckRequest, document: object) -> list[str]:
    """Return sentences about statuses of nodes, the cause, and keys of a profile's context.

    :param document: the plain data of the request; decoding drops the keys of a context.
    """
    found = (
        _unknown_statuses(request.cluster),
        _unknown_cause(request.action.cause),
        _unknown_keys(document),
    )
    return [sentence for sentence in found if sentence]


def _unknown_statuses(cluster: Cluster) -> str | None:
    """Return a sentence about the statuses that Senlin does not have.

    It omits those that resemble ERROR and WARNING, about which the worker warns.
    """
    unknown = [
        f'{status}{did_you_mean(status.upper(), KNOWN_STATUSES, "")}'
        for status in map(shortened, dict.fromkeys(node.status for node in cluster.nodes))
        if status and status not in KNOWN_STATUSES and not meant_status(status)
    ]
    if not unknown:
        return None
    return (
        f'Unknown status of nodes: {listed(unknown)}; only ERROR and WARNING are unhealthy; '
        f'the statuses of Senlin are {", ".join(KNOWN_STATUSES)}'
    )


def _unknown_cause(cause: str | None) -> str | None:
    if cause is None or cause in CAUSES:
        return None
    known = {known.lower(): known for known in CAUSES}
    near = nearest(shortened(cause).lower(), known, cutoff=0.8)
    if near is None:
        return None
    return (
        f'Unknown cause {_quoted(cause)} (did you mean "{known[near]}"?); it counts as '
        f'"{CAUSES[0]}", which the policies decide'
    )


def _unknown_keys(document: object) -> str | None:
    known = ProfileContext.__struct_fields__
    contexts = [context for context in _contexts(document) if isinstance(context, dict)]
    unknown = dict.fromkeys(key for context in contexts for key in context if key not in known)
    if not unknown:
        return None
    return (
        f"Unknown key of a profile's context: {listed(unknown, lambda key: _quoted(str(key)))}; "
        f'workers read only {", ".join(known)}'
    )


def _contexts(document: object) -> Iterator[object]:
    """Yield the contexts of all profiles of a request."""
    cluster = _value(document, 'cluster')
    nodes = _value(cluster, 'nodes')
    holders = [cluster, _value(_value(document, 'action'), 'node')]
    holders += nodes if isinstance(nodes, list) else []
    for holder in holders:
        yield _value(_value(_value(holder, 'profile'), 'properties'), 'context')


def _value(container: object, key: str) -> Any:
    return container.get(key) if isinstance(container, dict) else None


def _quoted(text: str) -> str:
    return json.dumps(shortened(text), ensure_ascii=False)
