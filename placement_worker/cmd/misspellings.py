"""Find values of a request that the contract allows, but that are probably misspelled."""

import difflib
import json
from collections.abc import Iterator
from typing import Any

from placement_worker.cmd import node_statuses
from placement_worker.contract import actions
from placement_worker.contract.model import CheckRequest, ProfileContext
from placement_worker.formats.text import listed, shortened

CAUSES = ('RPC Request', actions.DERIVED, 'Derived Action with Lifecycle Hook')
"""The causes of an action: senlin/common/consts.py of Senlin 16."""


def describe(request: CheckRequest, document: object) -> list[str]:
    """Return sentences about statuses of nodes, the cause, and keys of a profile's context.

    :param document: the plain data of the request; decoding drops the keys of a context.
    """
    found = (
        node_statuses.describe_unknown(request.cluster),
        _unknown_cause(request.action.cause),
        _unknown_keys(document),
    )
    return [sentence for sentence in found if sentence]


def _unknown_cause(cause: str | None) -> str | None:
    """Return a sentence about a cause that resembles one of Senlin's; an engine may have others."""
    if cause is None or cause in CAUSES:
        return None
    near = difflib.get_close_matches(
        shortened(cause).lower(), [known.lower() for known in CAUSES], n=1, cutoff=0.8
    )
    if not near:
        return None
    meant = next(known for known in CAUSES if known.lower() == near[0])
    return (
        f'Unknown cause {_quoted(cause)} (did you mean "{meant}"?); it counts as "{CAUSES[0]}", '
        'which the policies decide'
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
