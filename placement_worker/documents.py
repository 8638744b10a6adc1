"""Read YAML and JSON documents as people write them, without YAML's surprises."""

import sys
from collections.abc import Hashable
from typing import Any

import msgspec
import yaml

DEEPEST = 1000  # levels of YAML, about as many as are read of JSON; beyond 10,000 libyaml's reader ends the process
_BASE: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class Malformed(Exception):
    """The text is no YAML or JSON; the message says where."""


class TooDeep(Malformed):
    """More lists and maps are in one another than can be read."""


class _Loader(_BASE):  # type: ignore[misc]  # which of the two it is depends on how PyYAML was built
    """Plain data only: times stay strings, as in JSON, and a key may not stand in a map twice."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != 'tag:yaml.org,2002:timestamp']
        for first, resolvers in _BASE.yaml_implicit_resolvers.items()
    }

    _depth = 0

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Called at the beginning of each node, inside that of its parent."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise TooDeep(f'nested too deeply: more than {DEEPEST} levels')
        super().descend_resolver(current_node, current_index)

    def ascend_resolver(self) -> None:
        """Called at its end."""
        self._depth -= 1
        super().ascend_resolver()

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    'while reading a map', node.start_mark, 'found a key that is no scalar', key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    'while reading a map', node.start_mark, f'found the key {key!r} twice', key_node.start_mark
                )
            seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def read(path: str) -> list[Any]:
    """All documents of a file, `-` for standard input.

    :raises OSError: the file cannot be read.
    :raises Malformed: it holds no YAML or JSON; the text names the file.
    """
    try:
        if path == '-':
            found = parse(sys.stdin.read())
        else:
            with open(path, encoding='utf-8') as file:
                found = parse(file.read())
    except UnicodeDecodeError as exc:
        raise Malformed(f'{path} is not UTF-8 text: {exc}') from exc
    except TooDeep as exc:
        raise TooDeep(f'{path} is {exc}') from exc
    except Malformed as exc:
        raise Malformed(f'{path} holds no YAML or JSON: {exc}') from exc
    if not found:
        raise Malformed(f'{path} is empty')
    return found


def parse(text: str) -> list[Any]:
    """All documents of a text; empty ones are left out.

    JSON is tried first: it is the faster to read, and not quite a subset of the YAML that PyYAML reads.

    :raises Malformed: it is no YAML or JSON.
    """
    try:
        return [msgspec.json.decode(text)]
    except RecursionError:
        raise TooDeep('nested too deeply') from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    try:
        return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except RecursionError:
        raise TooDeep('nested too deeply') from None
    except (yaml.YAMLError, ValueError) as exc:
        raise Malformed(' '.join(str(exc).split()).replace('in "<unicode string>", ', 'at ')) from exc
