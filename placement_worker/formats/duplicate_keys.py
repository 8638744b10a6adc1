"""Find keys that stand in a JSON object twice: JSON readers differ in which one of them they
silently keep.
"""

import json
from collections import Counter
from typing import Any

import msgspec


class _Twice:
    """Stands in a tree for an object that holds a key twice."""

    def __init__(self, key: str) -> None:
        self.key = key


def found(text: bytes | str, *decoded: object) -> str | None:
    """Return the first such key and where it stands, e.g. `` `id` twice - at `$.nodes[3]` ``, or
    None.

    Decoding drops what stands twice, so the text then has more colons than what was decoded has
    when it is encoded again. That is exact unless the text spells colons as escapes, and takes a
    fourth of the time of decoding.

    :param decoded: what msgspec decodes the text to, if the caller has it.
    :raises RecursionError: the text is nested too deeply.
    """
    data = text.encode() if isinstance(text, str) else text
    try:
        again = msgspec.json.encode(decoded[0] if decoded else msgspec.json.decode(data))
    except (
        msgspec.DecodeError
    ):  # a number that msgspec does not read, where decoding to a type passes over it
        return _searched(data)
    plainly = b'\\' not in data or b'\\u003' not in data  # a single byte is found many times faster
    return None if plainly and data.count(b':') == again.count(b':') else _searched(data)


def _searched(data: bytes) -> str | None:
    """Search the slow way; numbers stay texts, for Python bounds their digits."""
    return _first(json.loads(data, object_pairs_hook=_object, parse_int=str, parse_float=str))


def _object(pairs: list[tuple[str, Any]]) -> Any:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    counts = Counter(key for key, _ in pairs)
    return _Twice(next(key for key, count in counts.items() if count > 1))


def _first(tree: Any) -> str | None:
    left = [(tree, '$')]
    while left:
        item, path = left.pop()
        if isinstance(item, _Twice):
            return f'`{item.key[:80]}` twice - at `{path}`'
        if isinstance(item, dict):
            left += [(value, f'{path}.{key[:80]}') for key, value in reversed(item.items())]
        elif isinstance(item, list):
            left += [(value, f'{path}[{i}]') for i, value in reversed([*enumerate(item)])]
    return None
