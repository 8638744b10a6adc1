"""What a file of a user's is meant to be, and what stands in it that should not."""

import itertools

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import BindRequest, CheckRequest, Spec

LISTED = 5
SCENARIO = 'Scenario'
_KINDS: dict[str, tuple[frozenset[str], str, str]] = {
    CheckRequest.__name__: (frozenset({'action', 'cluster'}), 'a check request', 'check'),
    BindRequest.__name__: (
        frozenset({'policy', 'cluster'}),
        'a request to attach or detach a policy',
        'attach',
    ),
    Spec.__name__: (frozenset({'type', 'version'}), 'a policy spec', 'validate'),
    SCENARIO: (frozenset({'cloud', 'steps'}), 'a scenario', 'simulate'),
}
"""Kind -> the keys that tell it from the others, what it is called, the command that takes it."""


def another(document: object, wanted: str) -> str | None:
    """What a document is, if it is plainly of another kind than `wanted`: hardly any of its keys
    would fit.
    """
    keys = document.keys() if isinstance(document, dict) else set()
    if _KINDS[wanted][0] <= keys:
        return None
    found = (
        f'{name}; placement-policy {command} takes it'
        for marks, name, command in _KINDS.values()
        if marks <= keys
    )
    return next(found, None)


def check(document: object, wanted: type, expected: str) -> None:
    """See that a document is of the kind, and has only keys that are known; any other may be a
    slip.

    :param expected: what is said of the keys that there may be.
    :raises InvalidRequest: it is of another kind, or has keys that there may not be, of which the
        first are named.
    """
    other = another(document, wanted.__name__)
    if other:
        raise errors.InvalidRequest(f'It looks like {other}')
    unknown = unknown_keys(document, wanted)
    if unknown:
        raise errors.InvalidRequest(f'{expected}, got {unknown}')


def unknown_keys(document: object, kind: type) -> str:
    """The first keys of a document that may not be there, and how many more there are; empty if
    there are none.
    """
    unknown = codec.unknown_keys(document, kind)
    shown = [str(one) for one in itertools.islice(unknown, LISTED)]
    more = sum(1 for _ in unknown)
    return ', '.join(shown) + (f' and {more} more' if more else '')
