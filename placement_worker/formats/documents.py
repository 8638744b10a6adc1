"""Read YAML and JSON documents, and find positions in them.

A reader that keeps one of two equal keys would hide the mistake of its author, and readers differ
in the one that they keep. So both formats refuse duplicate keys. Errors have positions, since a
request of a thousand nodes has ten thousand lines.
"""

import functools
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec
import yaml

from placement_worker.formats import paths, yaml_loader
from placement_worker.formats.paths import Path
from placement_worker.formats.text import counted, shortened

STANDARD_INPUT = '<stdin>'
MAX_PROBLEMS = 10  # that a command shows
LONG = 2**20  # characters of a text whose beginning is read first
LINE_BREAK = re.compile('\r\n|[\n\r\x85\u2028\u2029]')  # as in YAML 1.1
_SPACE = re.compile(r'[ \t\n\r]*')
_JSON = json.JSONDecoder(parse_int=str, parse_float=str)  # Python limits the digits of an integer


class Source(NamedTuple):
    name: str  # as messages show it
    text: str


class Position(NamedTuple):
    """A line and a column; the first ones are 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f'line {self.line}, column {self.column}'


class Problem(NamedTuple):
    text: str
    position: Position | None  # None if the error concerns the whole file
    of_key: bool = False  # a key is wrong; often it is the misspelled one of a missing key


class Finding(Protocol):
    """An error of the content of a document, e.g. `codec.SchemaError`."""

    @property
    def path(self) -> Path: ...

    @property
    def text(self) -> str: ...

    @property
    def of_key(self) -> bool: ...


class DocumentError(Exception):
    """A document cannot be used; the message gives the file and the position."""

    def __init__(
        self, message: str, source: Source | None = None, problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(message)
        self.source, self.problems = source, problems


class Malformed(DocumentError):
    """The text is neither YAML nor JSON."""


class Damaged(DocumentError):
    """A compressed file cannot be decompressed."""


class Invalid(DocumentError):
    """The document has other content than expected; the message gives a wrong key first."""

    def __init__(self, source: Source, problems: Sequence[Problem], more: int) -> None:
        # `more` is the number of problems that are not listed.
        others = len(problems) - 1 + more
        also = f' and {counted(others, "more error")}' if others else ''
        text, position, _ = min(problems, key=lambda problem: not problem.of_key)
        where = f' ({position})' if position else ''
        super().__init__(f'{text}{where}{also}', source, problems)
        self.more = more


@dataclass(frozen=True, slots=True)
class Document:
    data: Any
    source: Source
    number: int  # 1 for the first document of its file; empty ones do not count
    is_json: bool

    def invalid(self, found: Iterable[Finding]) -> Invalid:
        """Return the error about values of this document; `found` has at least one."""
        remaining, position = iter(found), self._locator()
        problems = [
            Problem(error.text, position(error.path, of_key=error.of_key), error.of_key)
            for error in itertools.islice(remaining, MAX_PROBLEMS)
        ]
        problems.sort(key=lambda problem: problem.position or Position(0, 0))
        return Invalid(self.source, problems, sum(1 for _ in remaining))

    def _locator(self) -> Callable[..., Position]:
        if self.is_json:
            return functools.partial(_in_json, self.source.text)
        root = yaml_loader.root(self.source.text, self.number)
        return functools.partial(_in_yaml, root)


def read(path: str) -> list[Document]:
    """Return all documents of a file except empty ones.

    JSON is tried first: it is faster to read, and PyYAML's YAML 1.1 is no superset of it.

    :param path: a path, or `-` for standard input.
    :raises OSError: the file cannot be read.
    :raises Malformed: the file contains neither YAML nor JSON.
    """
    return parse(source_of(path))


def beginning(source: Source, size: int) -> Document | None:
    """Return what the first lines of a long YAML document hold, or None if they hold no data.

    PyYAML takes half a minute for 30 MB, for which a mistake in the second line need not wait.

    :raises Malformed: a key is there twice.
    """
    end = source.text.rfind('\n', 0, size) + 1
    if len(source.text) < LONG or not end:
        return None
    try:
        document, *others = parse(Source(source.name, source.text[:end]))
    except Malformed as exc:
        if isinstance(exc.__cause__, yaml.constructor.ConstructorError):
            raise
        return None
    return None if others else document


def parse(source: Source) -> list[Document]:
    decoded = _from_json(source)
    if decoded is not None:
        return [Document(decoded[0], source, 1, is_json=True)]
    documents = [
        Document(data, source, number, is_json=False)
        for number, data in enumerate(_from_yaml(source), start=1)
    ]
    if not documents:
        raise Malformed(f'{source.name} is empty')
    return documents


def source_of(path: str) -> Source:
    name = STANDARD_INPUT if path == '-' else path
    try:
        if path == '-':
            return Source(name, sys.stdin.read())
        with open(path, encoding='utf-8') as file:
            return Source(name, file.read())
    except UnicodeDecodeError as exc:
        raise Malformed(f'{name} is not UTF-8 text: {exc}') from exc


def _from_json(source: Source) -> tuple[Any] | None:
    """Return the data in a tuple, or None if the text is not JSON."""
    try:
        decoded = msgspec.json.decode(source.text)
        duplicate = duplicate_key(source.text, decoded)
    except RecursionError:
        raise _too_deep(source) from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    if duplicate:
        text = f'found the key {duplicate}'
        position = _in_json(source.text, paths.named_in(text) or ())
        raise Malformed(f'{source.name}: {text}', source, [Problem(text, position)])
    return (decoded,)


def _from_yaml(source: Source) -> list[Any]:
    try:
        loaded = yaml_loader.load_all(source.text)
    except (RecursionError, yaml_loader.TooDeep):
        raise _too_deep(source) from None
    except (yaml.YAMLError, ValueError) as exc:
        problem = _problem(exc)
        where = f':{problem.position.line}:{problem.position.column}' if problem.position else ''
        text = f'{source.name}{where} is neither YAML nor JSON: {problem.text}'
        raise Malformed(text, source, [problem]) from exc
    return [document for document in loaded if document is not None]


def _too_deep(source: Source) -> Malformed:
    most = yaml_loader.MAX_DEPTH
    return Malformed(f'{source.name} is nested too deeply: more than {most} levels')


def _problem(exc: Exception) -> Problem:
    mark = getattr(exc, 'problem_mark', None)
    if mark is None:
        return Problem(' '.join(str(exc).split()), None)
    context, begin = exc.context, exc.context_mark  # type: ignore[attr-defined]
    text = ' '.join(filter(None, (exc.problem, context)))  # type: ignore[attr-defined]
    if context and begin and _position(begin) != _position(mark):
        text += f', which begins at {_position(begin)}'
    return Problem(text, _position(mark))


def _position(mark: Any) -> Position:
    return Position(mark.line + 1, mark.column + 1)


def duplicate_key(text: bytes | str, *decoded: object) -> str | None:
    """Return the first duplicate key of a JSON text, e.g. `` `id` twice - at `$.nodes[3]` ``.

    Decoding drops one of two duplicates, so the encoded result has fewer colons than the text.
    Counting colons is fast, and exact unless the text spells them as escapes.

    :param decoded: the result of msgspec for this text, if the caller has it.
    :raises RecursionError: the text is nested too deeply.
    """
    data = text.encode() if isinstance(text, str) else text
    try:
        again = msgspec.json.encode(decoded[0] if decoded else msgspec.json.decode(data))
    except msgspec.DecodeError:
        # A number that msgspec cannot read; decoding to a type skips it in an unknown field.
        return _search_duplicate(data)
    # The search for one byte comes first because it is many times faster.
    no_escapes = b'\\' not in data or b'\\u003' not in data
    if no_escapes and data.count(b':') == again.count(b':'):
        return None
    return _search_duplicate(data)


class _Duplicate:
    """A placeholder for an object with a duplicate key."""

    def __init__(self, key: str) -> None:
        self.key = key


def _search_duplicate(data: bytes) -> str | None:
    # Numbers stay text because Python limits the digits of an integer.
    tree = json.loads(data, object_pairs_hook=_unique_object, parse_int=str, parse_float=str)
    pending: list[tuple[Any, str]] = [(tree, '$')]
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


def _unique_object(pairs: list[tuple[str, Any]]) -> Any:
    decoded = dict(pairs)
    if len(decoded) == len(pairs):
        return decoded
    counts = Counter(key for key, _ in pairs)
    return _Duplicate(next(key for key, count in counts.items() if count > 1))


def _in_yaml(root: Any, path: Path, *, of_key: bool = False) -> Position:
    """Return the position of a value, or of the deepest map or list on its path."""
    node, mark = root, root.start_mark
    for step in path:
        member = _member(node, step)
        if member is None:
            break
        key, node = member
        mark = key.start_mark if of_key else node.start_mark
    return _position(mark)


def _member(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Return the node of a key and that of its value; an item of a list is its own key."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if pair[0].value == str(step)), None)
    return None


def _in_json(text: str, path: Path, *, of_key: bool = False) -> Position:
    start = offset = _after_space(text, 0)
    for step in path:
        # The last of two equal keys counts.
        member = [(key, value) for name, key, value in _json_parts(text, start) if name == step]
        if not member:
            break
        key, start = member[-1]
        offset = key if of_key else start
    before = LINE_BREAK.split(text[:offset])
    return Position(len(before), len(before[-1]) + 1)


def _json_parts(text: str, start: int) -> Iterator[tuple[str | int, int, int]]:
    """Yield each name or index of an object or array, and where its key and its value begin."""
    if text[start] not in '{[':
        return
    at = _after_space(text, start + 1)
    for index in itertools.count():
        if text[at] in '}]':
            return
        name, value = index, at
        if text[start] == '{':
            name, end = _JSON.raw_decode(text, at)
            value = _after_space(text, _after_space(text, end) + 1)
        yield name, at, value
        _, end = _JSON.raw_decode(text, value)
        end = _after_space(text, end)
        at = _after_space(text, end + 1) if text[end] == ',' else end


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
