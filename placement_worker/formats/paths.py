"""Paths of values in a document, `$.cluster.nodes[3].index`, and the errors of such values."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from placement_worker.formats.text import did_you_mean, listed, shortened

# The keys and indices from the root of a document to a value.
Path = tuple[str | int, ...]
_STEP = re.compile(r'\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]')
_AT_END = re.compile(r' - at `(?P<path>\$[^`]*)`')


def path_text(path: Path) -> str:
    """Return a path in words of msgspec's errors."""
    steps = (f'[{step}]' if isinstance(step, int) else f'.{shortened(step)}' for step in path)
    return '$' + ''.join(steps)


def named_in(message: str) -> Path | None:
    """Return the path that an error names, up to a key that it does not spell out, or None."""
    named = _AT_END.search(message)
    return None if named is None else parsed_path(named['path'])


def parsed_path(text: str) -> Path:
    """Return the path in a text; it ends before `[...]`, msgspec's word for any key of a map."""
    path: list[str | int] = []
    end = 1
    while step := _STEP.match(text, end):
        path.append(int(step['index']) if step['index'] else step['key'])
        end = step.end()
    return tuple(path)


class SchemaError(NamedTuple):
    """An error with the path of the value; `of_key` if the last key of the path is wrong."""

    path: Path
    text: str
    of_key: bool = False


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that the contract does not list; its text is made on demand: there may be a million."""

    path: Path
    name: str
    known: Collection[str]
    of_key: ClassVar[bool] = True

    def __str__(self) -> str:
        return f'`{path_text(self.path[:-1])}.{self.name}`{self._hint}'

    @property
    def text(self) -> str:
        hint = self._hint or f', expected one of {listed(self.known, "`{}`".format)}'
        return f'Unknown key `{self.name}`{hint} - at `{path_text(self.path[:-1])}`'

    @property
    def _hint(self) -> str:
        return did_you_mean(self.name, self.known)


WrongValue = SchemaError | UnknownKey
