"""Check the outcomes of plugins, so that an error names the policy that wrote a value."""

from collections.abc import Mapping
from dataclasses import fields

import msgspec
from msgspec import Struct, structs

from placement_worker.contract import schema_errors
from placement_worker.contract.codec import NOT_PLAIN
from placement_worker.contract.model import ClusterPatch, NodePatch
from placement_worker.formats.text import shortened
from placement_worker.policies.base import BindingOutcome, Outcome

MAX_DEPTH = 100
"""The number of maps and lists inside each other; the encoder fails at about 1000."""


class _Patches(Struct):
    """The patches of an outcome as plain data."""

    nodes: dict[str, NodePatch]
    cluster: ClusterPatch | None


def check_values(outcome: Outcome | BindingOutcome) -> None:
    """Check that a reply can hold the values of an outcome exactly.

    The encoder would turn a time or a set into another type, and name no policy if it fails.

    :raises TypeError: a value is not plain data or that of a patch has a wrong type, with its
        path, or a decision has no reason.
    """
    if isinstance(outcome, Outcome) and not outcome.reason.strip():
        raise TypeError('reason must not be empty')
    values = {one.name: _as_data(getattr(outcome, one.name)) for one in fields(outcome)}
    found = _not_plain(values)
    if found:
        raise TypeError(found.removeprefix('.'))
    patches = {name: values[name] for name in _Patches.__struct_fields__}
    if error := next(schema_errors.found(patches, _Patches), None):
        raise TypeError(error.text)


def _as_data(value: object) -> object:
    """Return the outer maps and patches of an outcome as dictionaries."""
    if isinstance(value, Struct):
        return structs.asdict(value)
    if isinstance(value, Mapping):
        return {
            key: structs.asdict(one) if isinstance(one, NodePatch) else one
            for key, one in value.items()
        }
    return value


def _not_plain(value: object, around: tuple[object, ...] = ()) -> str | None:
    """Return the path and the type of the first value that JSON changes or cannot hold.

    :param around: the maps and lists that contain the value.
    """
    if not isinstance(value, (dict, list, tuple)):
        if _is_kept(value):
            return None
        return f': {_named(value)} is not JSON'
    if any(one is value for one in around):
        return f': {type(value).__name__} contains itself'
    if len(around) > MAX_DEPTH:
        return f': more than {MAX_DEPTH} maps and lists inside each other'
    around = (*around, value)
    if isinstance(value, dict):
        return next((found for one in value.items() if (found := _in_entry(*one, around))), None)
    items = ((i, _not_plain(item, around)) for i, item in enumerate(value))
    return next((f'[{i}]{found}' for i, found in items if found), None)


def _named(value: object) -> str:
    if isinstance(value, str):
        return 'a string with a lone surrogate'
    return str(value) if isinstance(value, float) else type(value).__name__


def _in_entry(key: object, item: object, around: tuple[object, ...]) -> str | None:
    """Return the path and the problem of an entry of a map."""
    if not isinstance(key, str):
        return f': the key {shortened(repr(key))} is not a string'
    found = _not_plain(item, around)
    return f'.{shortened(key)}{found}' if found else None


def _is_kept(value: object) -> bool:
    """Return whether a value is the same after it was encoded and decoded."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(value)) == value)
    except NOT_PLAIN:
        return False
