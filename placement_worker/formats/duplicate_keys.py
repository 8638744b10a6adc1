"""Find duplicate keys in JSON objects; JSON readers differ in the value that they keep."""

import json
from collections import Counter
from typing import Any

import msgspec

from placement_worker.formats.text import shortened


class _Duplicate:
    """A placeholder for an object with a duplicate key."""

    def __init__(self, key: str) -> None:
        self.key = key


def found(text: bytes | str, *decoded: object) -> str | None:
    """Return the first duplicate key, e.g. `` `id` twice - at `$.nodes[3]` ``, or None.

    Decoding drops one of two duplicates, so the encoded result has fewer colons than the text.
    Counting colons is exact unless the text spells them as escapes, and takes a quarter of the
    time of decoding.

    :param decoded: the result of msgspec for this text, if the caller has it.
    :raises RecursionError: the text is nested too deeply.
    """
    data = text.encode() if isinstance(text, str) else text
    try:
        again = msgspec.json.encode(decoded[0] if decoded else msgspec.json.decode(data))
    except msgspec.DecodeError:
        # A number that msgspec cannot read; decoding to a type skips it in an unknown field.
        return _search(data)
    # The search for one byte comes first because it is many times faster.
    no_escapes = b'\\' not in data or b'\\u003' not in data
    return None if no_escapes and data.count(b':') == again.count(b':') else _search(data)


def _search(data: bytes) -> str | None:
    """Search each object; numbers stay text because Python limits the digits of an integer."""
    return _first(json.loads(data, object_pairs_hook=_object, parse_int=str, parse_float=str))


def _object(pairs: list[tuple[str, Any]]) -> Any:
    decoded = dict(pairs)
    if len(decoded) == len(pairs):
        return decoded
    counts = Counter(key for key, _ in pairs)
    return _Duplicate(next(key for key, count in counts.items() if count > 1))


def _first(tree: Any) -> str | None:
    pending = [(tree, '$')]
    while pending:
        item, path = pending.pop()
        if isinstance(item, _Duplicate):
            return f'`{shortened(item.key)}` twice - at `{path}`'
        if isinstance(item, dict):
            members = reversed(item.items())
            pending += [(value, f'{path}.{shortened(key)}') for key, value in members]
        elif isinstance(item, list):
            pending += [(value, f'{path}[{i}]') for i, value in reversed([*enumerate(item)])]
    return None
