"""Read YAML and JSON documents, and find positions in them.

A reader that keeps one of two equal keys would hide the mistake of its author, and readers differ
in the one that they keep. So both formats refuse duplicate keys. Errors have positions, since a
request of a thousand nodes has ten thousand lines.
"""

import contextlib
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import yaml

from placement_worker.formats import yaml_loader
from placement_worker.formats.paths import Path, WrongValue
from placement_worker.formats.text import counted

STANDARD_INPUT = '<stdin>'
MAX_PROBLEMS = 10  # that a command shows
LONG = 2**20  # characters of a text whose beginning is read first
BEGINNING = 2**16
LONG_JSON = 2**22  # characters of JSON in which no positions are searched
LINE_BREAK = re.compile('\r\n|[\n\r\x85\u2028\u2029]')  # as in YAML 1.1


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


class DocumentError(Exception):
    """A document cannot be used; the message gives the file and the position."""

    def __init__(
        self, message: str, source: Source | None = None, problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(message)
        self.source, self.problems = source, problems


class Malformed(DocumentError):
    pass


class Damaged(DocumentError):
    pass


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

    def invalid(self, wrong: Iterable[WrongValue]) -> Invalid:
        """Return the error about values of this document; there is at least one."""
        remaining, root = iter(wrong), self._root()
        problems = [
            Problem(error.text, _in_yaml(root, error.path, error.of_key), error.of_key)
            for error in itertools.islice(remaining, MAX_PROBLEMS)
        ]
        problems.sort(key=lambda problem: problem.position or Position(0, 0))
        return Invalid(self.source, problems, sum(1 for _ in remaining))

    def _root(self) -> Any:
        """Return the root node, or None for JSON that is long or no YAML.

        PyYAML takes a second for 1 MiB, and refuses escaped surrogates.
        """
        if len(self.source.text) > LONG_JSON and self.source.text.lstrip()[0] in '{[':
            return None
        try:
            return yaml_loader.root(self.source.text, self.number)
        except yaml.YAMLError:
            return None


def read(path: str) -> list[Document]:
    """Return all documents of a file except empty ones.

    JSON is tried first: it is faster to read, and PyYAML's YAML 1.1 is no superset of it.

    :param path: a path, or `-` for standard input.
    :raises OSError: the file cannot be read.
    :raises Malformed: the file contains neither YAML nor JSON.
    """
    return parse(source_of(path))


def beginning(source: Source) -> Document | None:
    """Return what the first lines of a long YAML document hold, or None if they hold no data.

    PyYAML takes half a minute for 30 MB, for which a mistake in the second line need not wait.

    :raises Malformed: a key is there twice.
    """
    end = source.text.rfind('\n', 0, BEGINNING) + 1
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
        return [Document(decoded[0], source, 1)]
    numbered = enumerate(_from_yaml(source), start=1)
    documents = [Document(data, source, number) for number, data in numbered]
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
    """Return the data in a tuple, or None if the text is not JSON.

    The reader of YAML refuses JSON with a duplicate key, and knows the position of the key.
    """
    try:
        decoded = msgspec.json.decode(source.text)
        return (decoded,) if duplicate_key(source.text) is None else None
    except RecursionError:
        raise _too_deep(source) from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


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


class _DuplicateKey(Exception):
    pass


def duplicate_key(text: bytes | str) -> str | None:
    """Return a key that an object of a JSON text has twice, or None.

    Decoding drops one of two duplicates, so the encoded result has fewer colons than the text.
    Counting colons is fast, and exact unless the text spells them as escapes.

    :raises RecursionError: the text is nested too deeply.
    """
    data = text.encode() if isinstance(text, str) else text
    with contextlib.suppress(msgspec.DecodeError):  # e.g. of a number that msgspec cannot read
        again = msgspec.json.encode(msgspec.json.decode(data))
        if b'\\u003' not in data and data.count(b':') == again.count(b':'):
            return None
    try:
        # Numbers stay text because Python limits the digits of an integer.
        json.loads(text, object_pairs_hook=_refuse_duplicates, parse_int=str, parse_float=str)
    except _DuplicateKey as exc:
        return str(exc)
    return None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise _DuplicateKey(key)


def _in_yaml(root: Any, path: Path, of_key: bool) -> Position | None:
    """Return the position of a value, or of the deepest map or list on its path."""
    if root is None:
        return None
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
