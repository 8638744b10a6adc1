"""Read YAML and JSON documents as people write them, without YAML's surprises."""

import itertools
import sys
from collections.abc import Hashable, Iterable
from typing import Any

import msgspec
import yaml

from placement_worker.formats import duplicate_keys

DEEPEST = 1000  # levels of YAML, about as many as are read of JSON; beyond 10,000 libyaml's reader ends the process
MOST_ADDED = 32 * 2**20
"""How much the aliases of a YAML document may add to it: the characters of what they stand for, and
`NODE` for each of its values, lists and maps. That is enough for 10,000 nodes which share a
profile."""
NODE = 16
_BASE: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class Malformed(Exception):
    """The text is no YAML or JSON; the message says where."""


class TooDeep(Malformed):
    """More lists and maps are in one another than can be read."""


class _Loader(_BASE):  # type: ignore[misc]  # which of the two it is depends on how PyYAML was built
    """Plain data only: times stay strings, as in JSON, and a key may not stand in a map twice."""

    yaml_implicit_resolvers = {
        first: [
            (tag, pattern) for tag, pattern in resolvers if tag != 'tag:yaml.org,2002:timestamp'
        ]
        for first, resolvers in _BASE.yaml_implicit_resolvers.items()
    }

    _depth = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._may_have_aliases = '*' in text

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

    def construct_document(self, node: Any) -> Any:
        """Called when the tree of a document is complete; an alias is one more reference to a part
        of it.
        """
        if self._may_have_aliases:
            _bound(node)
        return super().construct_document(node)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(
                    'while reading a map',
                    node.start_mark,
                    'found a key that is no scalar',
                    key_node.start_mark,
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    'while reading a map',
                    node.start_mark,
                    f'found the key {key!r} twice',
                    key_node.start_mark,
                )
            seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _bound(root: Any) -> None:
    """Check that the aliases of a document add at most `MOST_ADDED`, in time linear in its text.

    :raises ConstructorError: naming the line of the list or map whose aliases add more.
    """
    nodes = _bottom_up(root)
    most = sum(map(_own_size, nodes)) + MOST_ADDED
    sizes: dict[int, int] = {}
    for node in nodes:
        size = sizes[id(node)] = _own_size(node) + sum(sizes[id(item)] for item in _items(node))
        if size > most:
            raise _refused(node, f'found aliases that add more than {MOST_ADDED} characters')


def _bottom_up(root: Any) -> list[Any]:
    """Return each node of a document once, behind all that it holds.

    :raises ConstructorError: an alias stands inside of what it stands for.
    """
    done: dict[int, bool] = {}  # False while the nodes inside are being visited
    ordered: list[Any] = []
    left = [root]
    while left:
        node = left[-1]
        if id(node) not in done:
            done[id(node)] = False
            for item in _items(node):
                if done.get(id(item)) is False:
                    raise _refused(node, 'found an alias inside of what it stands for')
                left.append(item)
            continue
        left.pop()
        if not done[id(node)]:
            done[id(node)] = True
            ordered.append(node)
    return ordered


def _items(node: Any) -> Iterable[Any]:
    """Return the nodes inside a node, of a map its keys and values."""
    if isinstance(node, yaml.MappingNode):
        return itertools.chain.from_iterable(node.value)
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def _own_size(node: Any) -> int:
    return NODE + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)


def _refused(node: Any, found: str) -> Exception:
    error: Exception = yaml.constructor.ConstructorError(None, None, found, node.start_mark)
    return error


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

    JSON is tried first: it is the faster to read, and not quite a subset of the YAML that PyYAML
    reads.

    :raises Malformed: it is no YAML or JSON.
    """
    try:
        decoded = msgspec.json.decode(text)
        twice = duplicate_keys.found(text, decoded)
    except RecursionError:
        raise TooDeep('nested too deeply') from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _parse_yaml(text)
    if twice:
        raise Malformed(f'found the key {twice}')
    return [decoded]


def _parse_yaml(text: str) -> list[Any]:
    try:
        return [
            document for document in yaml.load_all(text, Loader=_Loader) if document is not None
        ]
    except RecursionError:
        raise TooDeep('nested too deeply') from None
    except (yaml.YAMLError, ValueError) as exc:
        raise Malformed(
            ' '.join(str(exc).split()).replace('in "<unicode string>", ', 'at ')
        ) from exc
