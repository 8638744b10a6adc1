"""PyYAML's loader of plain data, with guards against surprising or hostile YAML."""

import contextlib
import gc
import itertools
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import yaml
from typing_extensions import override

# Maximum nesting of YAML, similar to the limit for JSON. libyaml before 0.2.6 crashes beyond 10,000
# levels; later ones refuse more than 1000 by themselves, often before `Loader` has counted them.
MAX_DEPTH = 1000
# Maximum size that the aliases of a YAML document may add to it. The size of an alias is the number
# of characters that it stands for plus `NODE_SIZE` per value, list and map. The maximum allows for
# 10,000 nodes that share a profile.
MAX_EXPANSION = 32 * 2**20
NODE_SIZE = 16
_BASE: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class TooDeep(Exception):
    pass


def load_all(text: str) -> list[Any]:
    """Return the data of each document in a text, and None for an empty one."""
    try:
        with collector_paused():
            return list(yaml.load_all(text, Loader=Loader))
    except yaml.scanner.ScannerError as exc:
        if exc.problem == 'exceeded maximum nesting depth':
            raise TooDeep from None
        raise


def root(text: str, number: int) -> Any:
    """Return the root node of a document; 1 is the first document that is not empty."""
    with collector_paused():
        roots = yaml.compose_all(text, Loader=Loader)
        full = (node for node in roots if node.tag != 'tag:yaml.org,2002:null')
        return next(itertools.islice(full, number - 1, None))


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would walk the growing tree of a document many times."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Loader(_BASE):  # type: ignore[misc]  # which of the two it is depends on how PyYAML was built
    """A loader of plain data: timestamps stay strings as in JSON, duplicate keys are errors.

    PyYAML calls `descend_resolver` and `ascend_resolver` where it enters and leaves a node.
    """

    yaml_implicit_resolvers = {
        first: [(tag, regex) for tag, regex in resolvers if tag != 'tag:yaml.org,2002:timestamp']
        for first, resolvers in _BASE.yaml_implicit_resolvers.items()
    }

    _depth = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._may_have_aliases = '*' in text

    @override
    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep
        super().descend_resolver(current_node, current_index)

    @override
    def ascend_resolver(self) -> None:
        self._depth -= 1
        super().ascend_resolver()

    @override
    def construct_document(self, node: Any) -> Any:
        # In the complete tree, an alias is one more reference to the node that it stands for.
        if self._may_have_aliases:
            _check_aliases(node)
        return super().construct_document(node)

    @override
    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key, problem = self.construct_object(key_node, deep=True), ''
            if not isinstance(key, Hashable):
                problem = 'found a key that is not a scalar'
            elif key in seen:
                problem = f'found the key {key!r} twice'
            if problem:
                raise yaml.constructor.ConstructorError(
                    'while reading a map', node.start_mark, problem, key_node.start_mark
                )
            seen.add(key)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def _check_aliases(root: Any) -> None:
    """Check that aliases add at most `MAX_EXPANSION` to a document, in time linear in its text.

    :raises ConstructorError: they add more, or one refers to a node that contains it; the error
        names the line of the list or map.
    """
    sizes: dict[int, int] = {}  # with aliases written out; 0 while a node is being measured
    written = 0

    def measure(node: Any) -> None:
        nonlocal written
        sizes[id(node)] = 0
        size = NODE_SIZE + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        written += size
        items: Iterable[Any] = node.value if isinstance(node, yaml.SequenceNode) else ()
        if isinstance(node, yaml.MappingNode):
            items = itertools.chain.from_iterable(node.value)
        for item in items:
            if id(item) not in sizes:
                measure(item)
            elif not sizes[id(item)]:
                raise _refused(node, 'found an alias that refers to a node around it')
            size += sizes[id(item)]
        if size > written + MAX_EXPANSION:
            raise _refused(node, f'found aliases that add more than {MAX_EXPANSION} characters')
        sizes[id(node)] = size

    measure(root)


def _refused(node: Any, problem: str) -> Exception:
    error: Exception = yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    return error
