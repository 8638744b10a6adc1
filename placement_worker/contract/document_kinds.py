"""Recognize the kind of a user's document, and refuse unknown keys.

A worker ignores unknown keys, since a newer engine may send more than it knows. In a file, an
unknown key is probably misspelled, and a document of another kind needs another command.
"""

from collections.abc import Sequence

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import BindRequest, CheckRequest, RebalanceRequest, Spec
from placement_worker.formats.paths import UnknownKey, WrongValue
from placement_worker.formats.text import listed

SCENARIO = 'Scenario'


class InvalidDocument(Exception):
    """The cause of the error of a document: all errors that were found in it."""

    def __init__(self, wrong: Sequence[WrongValue]) -> None:
        self.wrong = wrong


# Kind -> the keys that identify it, its name, and the command that reads it.
_KINDS: dict[str, tuple[frozenset[str], str, str]] = {
    CheckRequest.__name__: (frozenset({'action', 'cluster'}), 'a check request', 'check'),
    BindRequest.__name__: (
        frozenset({'policy', 'cluster'}),
        'a request to attach or detach a policy',
        'attach',
    ),
    RebalanceRequest.__name__: (
        frozenset({'cluster', 'policies', 'options'}),
        'a request for a rebalance',
        'rebalance',
    ),
    Spec.__name__: (frozenset({'type', 'version'}), 'a policy spec', 'validate'),
    SCENARIO: (frozenset({'cloud', 'steps'}), 'a scenario', 'simulate'),
}
_PLACES = frozenset({'zones', 'regions'})
_CLOUD = _PLACES | {'home_region', 'servers', 'networks', 'subnets', 'load_balancer'}


def other_kind(document: object, wanted: str) -> str | None:
    """Return name and command of a document that is of another kind than `wanted`, or None."""
    values = document if isinstance(document, dict) else {}
    keys = values.keys()
    if _KINDS[wanted][0] <= keys:
        return None
    if 'heat_template_version' in keys:
        resource = ', such as the properties of an OS::Senlin::Policy with type and version apart'
        return f'a Heat template; expected {_KINDS[wanted][1]}{resource * (wanted == "Spec")}'
    if keys & _PLACES and keys <= _CLOUD and not any(map(_has_maps, values.values())):
        return 'a description of a cloud; run placement-policy check --cloud FILE REQUEST'
    others = (
        f'{name}; run placement-policy {command} FILE'
        for identifying, name, command in _KINDS.values()
        if identifying <= keys
    )
    return next(others, None)


def _has_maps(places: object) -> bool:
    """Return whether the places are those of a policy; a cloud has a map, or a list of names."""
    return isinstance(places, list) and any(isinstance(place, dict) for place in places)


def check_kind(document: object, wanted: type, expected: str) -> None:
    """Refuse a document of another kind, or with unknown keys, which may be misspelled.

    :param expected: the expectation in the error about unknown keys.
    """
    other = other_kind(document, wanted.__name__)
    if other:
        raise errors.InvalidRequest(f'This is {other}')
    wrong = list(codec.errors_in(document, codec.strict(wanted)))
    unknown = listed(error for error in wrong if isinstance(error, UnknownKey))
    if unknown:
        raise errors.InvalidRequest(f'{expected}, got {unknown}') from InvalidDocument(wrong)
