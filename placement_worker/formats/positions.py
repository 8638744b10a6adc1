"""Positions in the text of YAML and JSON documents, for error messages."""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from placement_worker.formats.paths import Path
from placement_worker.formats.text import escaped

MAX_SNIPPET = 100  # characters of a line
_BEFORE = 60  # characters before the caret if a line is cut
_BREAK = re.compile('\r\n|[\n\r\x85\u2028\u2029]')  # the line breaks of YAML 1.1
_SPACE = re.compile(r'[ \t\n\r]*')
_JSON = json.JSONDecoder(parse_int=str, parse_float=str)  # Python limits the digits of an integer


class Position(NamedTuple):
    """A line and a column; the first ones are 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f'line {self.line}, column {self.column}'


def in_yaml(root: Any, path: Path, *, of_key: bool = False) -> Position:
    """Return the position of a value, or of the deepest map or list on its path.

    :param root: the node of a document, as PyYAML composes it.
    :param of_key: return the position of the value's key instead.
    """
    node, mark = root, root.start_mark
    for step in path:
        found = _member(node, step)
        if found is None:
            break
        key, node = found
        mark = key.start_mark if of_key else node.start_mark
    return Position(mark.line + 1, mark.column + 1)


def _member(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Return the node of a key and that of its value; an item of a list is its own key."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if pair[0].value == str(step)), None)
    return None


def in_json(text: str, path: Path, *, of_key: bool = False) -> Position:
    """Return the position of a value, or of the deepest object or array on its path.

    :param of_key: return the position of the value's key instead.
    """
    start = found = _after_space(text, 0)
    for step in path:
        member = _json_member(text, start, step)
        if member is None:
            break
        key, start = member
        found = key if of_key else start
    return position_at(text, found)


def _json_member(text: str, start: int, step: str | int) -> tuple[int, int] | None:
    """Return where a key and its value begin; an item of an array is its own key."""
    if text[start] == '{' and isinstance(step, str):
        # The last of two equal keys counts.
        named = [(key, value) for name, key, value in _json_members(text, start) if name == step]
        return named[-1] if named else None
    if text[start] == '[' and isinstance(step, int):
        items = (value for index, value in enumerate(_json_items(text, start)) if index == step)
        return next(((value, value) for value in items), None)
    return None


def _json_members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield each name of an object, and where the name and its value begin."""
    at = _after_space(text, start + 1)
    while text[at] == '"':
        name, end = _JSON.raw_decode(text, at)
        value = _after_space(text, _after_space(text, end) + 1)
        yield name, at, value
        at = _next_item(text, value)


def _json_items(text: str, start: int) -> Iterator[int]:
    """Yield where each item of an array begins."""
    at = _after_space(text, start + 1)
    while text[at] not in ']}':
        yield at
        at = _next_item(text, at)


def _next_item(text: str, value: int) -> int:
    """Return where the next item begins, or the end of the array or object."""
    _, end = _JSON.raw_decode(text, value)
    end = _after_space(text, end)
    return _after_space(text, end + 1) if text[end] == ',' else end


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def position_at(text: str, offset: int) -> Position:
    """Return the position of the character at an offset."""
    line, begin = 1, 0
    for line_break in _BREAK.finditer(text, 0, offset):
        line, begin = line + 1, line_break.end()
    return Position(line, offset - begin + 1)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, without their ends."""
    return _BREAK.split(text)


def line_at(lines: Sequence[str], position: Position) -> str:
    """Return the line of a position; it is empty after the end of the text."""
    return lines[position.line - 1] if position.line <= len(lines) else ''


def snippet(line: str, position: Position) -> str:
    """Return the line of a position, escaped and numbered, and a caret under the column."""
    begin = max(position.column - 1 - _BEFORE, 0) if len(line) > MAX_SNIPPET else 0
    before = ('...' if begin else '') + _printed(line[begin : position.column - 1])
    after = _printed(line[position.column - 1 : begin + MAX_SNIPPET])
    cut = '...' if len(line) > begin + MAX_SNIPPET else ''
    number = f'{position.line:>6} | '
    margin = ' ' * (len(number) - 2) + '| '
    return f'{number}{before}{after}{cut}\n{margin}{" " * _width(before)}^'


def _printed(text: str) -> str:
    return escaped(text.replace('\t', ' '))


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal: two for a wide character."""
    return sum(2 if unicodedata.east_asian_width(char) in 'WF' else 1 for char in text)
