"""Read numbers and nodes out of an action's free-form maps, with errors that name path and
finding.
"""

import json
from collections.abc import Mapping
from typing import Any

from placement_worker.errors import InvalidInput

INPUTS, DATA = '$.action.inputs', '$.action.data'
LARGEST = 2**63 - 1


def candidates(inputs: Mapping[str, Any]) -> list[str] | None:
    """The nodes that the action names, in order: of a map (old id -> new id) its keys; None: none
    named.

    :raises InvalidInput: not a list of ids, or an id stands there twice.
    """
    named = inputs.get('candidates')
    if named is None:
        return None
    if not isinstance(named, (list, dict)):
        raise InvalidInput(
            f'Expected `array` or `object`, got {shown(named)} - at `{INPUTS}.candidates`'
        )
    return ids(list(named), f'{INPUTS}.candidates')


def replacements(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return which node takes the place of which: old id -> new id.

    :raises InvalidInput: `candidates` is no such map, or a new id stands there twice.
    """
    named, path = inputs.get('candidates'), f'{INPUTS}.candidates'
    if not isinstance(named, dict):
        raise InvalidInput(
            f'Expected `object`, got {shown(named)} - at `{path}` (old node id: new node id)'
        )
    ids(list(named.values()), path)
    return named


def ids(value: object, path: str) -> list[str]:
    """The value, if it is a list of node ids; each once.

    :raises InvalidInput: it is not, or an id stands there twice.
    """
    if not isinstance(value, list):
        raise InvalidInput(f'Expected `array`, got {shown(value)} - at `{path}`')
    seen: set[str] = set()
    for i, node_id in enumerate(value):
        if not isinstance(node_id, str):
            raise InvalidInput(f'Expected `str`, got {shown(node_id)} - at `{path}[{i}]`')
        if node_id in seen:
            raise InvalidInput(
                f'Expected each node once, got `{node_id[:80]}` again - at `{path}[{i}]`'
            )
        seen.add(node_id)
    return value


def decision(data: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What was decided so far under `creation` or `deletion`; {} if nothing was.

    :raises InvalidInput: there is something else than a map.
    """
    decided = data.get(kind, {})
    if not isinstance(decided, dict):
        raise InvalidInput(f'Expected `object`, got {shown(decided)} - at `{DATA}.{kind}`')
    return decided


def planned(data: Mapping[str, Any], kind: str, what: str) -> dict[str, int] | None:
    """How many nodes of each place an earlier decision creates or deletes; None if it does not say.

    :param what: `zone` or `region`; the documents use singular and plural as key.
    :raises InvalidInput: it is no map of natural numbers.
    """
    decided = decision(data, kind)
    said = [key for key in (f'{what}s', what) if key in decided]
    if not said:
        return None
    key = next((key for key in said if decided[key]), said[0])
    path = f'{DATA}.{kind}.{key}'
    if not isinstance(decided[key], dict):
        raise InvalidInput(f'Expected `object`, got {shown(decided[key])} - at `{path}`')
    return {name: natural(number, f'{path}.{name}') for name, number in decided[key].items()}


def count(values: Mapping[str, Any], path: str) -> int:
    """The `count` in `values`, 1 if there is none."""
    return 1 if 'count' not in values else natural(values['count'], f'{path}.count')


def optional(inputs: Mapping[str, Any], key: str) -> int | None:
    """An input of a resize; the engine sends null for what was not given."""
    value = inputs.get(key)
    return None if value is None else natural(value, f'{INPUTS}.{key}')


def natural(value: object, path: str) -> int:
    """The value, if it is an integer >= 0."""
    number = integer(value, path)
    if number < 0:
        raise InvalidInput(f'Expected `int` >= 0, got `{number}` - at `{path}`')
    return number


def integer(value: object, path: str) -> int:
    """The value, if it is an integer."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise InvalidInput(f'Expected `int`, got {shown(value)} - at `{path}`')
    return value


def shown(value: object) -> str:
    """A value of the wrong kind as an error shows it: scalars as they are, the rest by kind."""
    if isinstance(value, dict):
        return '`object`'
    if isinstance(value, list):
        return '`array`'
    if isinstance(value, int) and abs(value) > LARGEST:
        return 'a number beyond 64 bits'
    return f'`{json.dumps(value[:80] if isinstance(value, str) else value)}`'
