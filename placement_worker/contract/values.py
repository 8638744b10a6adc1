"""Checked values of an action's free-form maps; InvalidInput names the path and the finding.

`note` and `expected` are parts of the error.
"""

import json
from typing import Any

from placement_worker.errors import InvalidInput
from placement_worker.formats.text import shortened

LARGEST = 2**63 - 1


def integer(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise InvalidInput(f'Expected `int`, got {value_text(value)} - at `{path}`')
    return value


def natural(value: object, path: str) -> int:
    number = integer(value, path)
    if number < 0:
        raise InvalidInput(f'Expected `int` >= 0, got `{number}` - at `{path}`')
    return number


def number(value: object, path: str, expected: str) -> int | float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not -LARGEST <= value <= LARGEST
    ):
        raise InvalidInput(f'Expected {expected}, got {value_text(value)} - at `{path}`')
    return value


def mapping(value: object, path: str, note: str = '') -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f'Expected `object`, got {value_text(value)} - at `{path}`{note}')
    return value


def mapping_or_empty(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def sequence(value: object, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f'Expected `array`, got {value_text(value)} - at `{path}`')
    return value


def node_ids(value: object, path: str) -> list[str]:
    """Return a list of distinct node ids."""
    seen: set[str] = set()
    listed = sequence(value, path)
    for i, node_id in enumerate(listed):
        if not isinstance(node_id, str):
            raise InvalidInput(f'Expected `str`, got {value_text(node_id)} - at `{path}[{i}]`')
        if node_id in seen:
            raise InvalidInput(
                f'Expected each node once, got `{shortened(node_id)}` again - at `{path}[{i}]`'
            )
        seen.add(node_id)
    return listed


def value_text(value: object) -> str:
    """Return a wrong value as an error shows it: a scalar as JSON, anything else by its type."""
    if isinstance(value, dict):
        return '`object`'
    if isinstance(value, list):
        return '`array`'
    if isinstance(value, int) and abs(value) > LARGEST:
        return 'a number beyond 64 bits'
    return f'`{json.dumps(shortened(value) if isinstance(value, str) else value)}`'
