"""Read YAML and JSON documents, and find positions in them."""

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import yaml

from placement_worker.formats import duplicate_keys, paths, positions, yaml_loader
from placement_worker.formats.positions import Position
from placement_worker.formats.text import counted

STANDARD_INPUT = '<stdin>'
MAX_PROBLEMS = 10
"""The number of errors in a document that a command shows."""


class Source(NamedTuple):
    """The name of a file as messages show it, and its text."""

    name: str
    text: str


class Problem(NamedTuple):
    """An error in a file.

    :ivar position: None if the error concerns the whole file.
    :ivar of_key: whether a key is wrong; often it is the misspelled one of a key that is missing.
    """

    text: str
    position: Position | None
    of_key: bool = False


class DocumentError(Exception):
    """A document cannot be used; the message gives the file and the position.

    :ivar problems: the errors with their positions in the text of the file.
    """

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
    """The document has other content than expected; the message gives a wrong key first.

    :ivar more: the number of problems that are not listed.
    """

    def __init__(self, source: Source, problems: Sequence[Problem], more: int) -> None:
        others = len(problems) - 1 + more
        also = f' and {counted(others, "more error")}' if others else ''
        text, position, _ = min(problems, key=lambda problem: not problem.of_key)
        where = f' ({position})' if position else ''
        super().__init__(f'{text}{where}{also}', source, problems)
        self.more = more


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file.

    :ivar number: 1 for the first document; empty documents do not count.
    """

    data: Any
    source: Source
    number: int
    is_json: bool

    def position(self, path: paths.Path, *, of_key: bool = False) -> Position:
        """Return the position of a value, or of the deepest map or list on its path.

        :param of_key: return the position of the value's key instead.
        """
        return self._locator()(path, of_key=of_key)

    def invalid(self, found: Iterable[tuple[paths.Path, str, bool]]) -> Invalid:
        """Return the error about values of this document; `found` has at least one.

        :param found: the path of each wrong value, the error, and whether its key is wrong.
        """
        remaining, position = iter(found), self._locator()
        problems = [
            Problem(text, position(path, of_key=of_key), of_key)
            for path, text, of_key in itertools.islice(remaining, MAX_PROBLEMS)
        ]
        problems.sort(key=lambda problem: problem.position or Position(0, 0))
        return Invalid(self.source, problems, sum(1 for _ in remaining))

    def _locator(self) -> Callable[..., Position]:
        """Return the function that finds positions; YAML is read again for it."""
        if self.is_json:
            return functools.partial(positions.in_json, self.source.text)
        root = yaml_loader.root(self.source.text, self.number)
        return functools.partial(positions.in_yaml, root)


def read(path: str) -> list[Document]:
    """Return all documents of a file except empty ones.

    JSON is tried first: it is faster to read, and PyYAML's YAML 1.1 is no superset of it.

    :param path: a path, or `-` for standard input.
    :raises OSError: the file cannot be read.
    :raises Malformed: the file contains neither YAML nor JSON; the message names it.
    """
    return parse(_source(path))


def parse(source: Source) -> list[Document]:
    """Return all documents of a text; see `read`."""
    decoded = _from_json(source)
    if decoded is not None:
        return [Document(decoded[0], source, 1, is_json=True)]
    found = [
        Document(data, source, number, is_json=False)
        for number, data in enumerate(_from_yaml(source), start=1)
    ]
    if not found:
        raise Malformed(f'{source.name} is empty')
    return found


def _source(path: str) -> Source:
    name = STANDARD_INPUT if path == '-' else path
    try:
        if path == '-':
            return Source(name, sys.stdin.read())
        with open(path, encoding='utf-8') as file:
            return Source(name, file.read())
    except UnicodeDecodeError as exc:
        raise Malformed(f'{name} is not UTF-8 text: {exc}') from exc


def _from_json(source: Source) -> tuple[Any] | None:
    """Return the data of a JSON text, or None if it is not JSON.

    :raises Malformed: the text is nested too deeply, or an object has a duplicate key.
    """
    try:
        decoded = msgspec.json.decode(source.text)
        duplicate = duplicate_keys.found(source.text, decoded)
    except RecursionError:
        raise _too_deep(source) from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    if duplicate:
        text = f'found the key {duplicate}'
        position = positions.in_json(source.text, paths.named_in(text) or ())
        raise Malformed(f'{source.name}: {text}', source, [Problem(text, position)])
    return (decoded,)


def _from_yaml(source: Source) -> list[Any]:
    """Return the data of the documents in a YAML text.

    :raises Malformed: the text is not YAML, or is nested too deeply.
    """
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
    """Return what PyYAML found, where it found it, and the construct that it was reading."""
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
