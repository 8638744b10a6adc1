"""Paths of values in a document, as errors show them: `$.cluster.nodes[3].index`."""

import re

from placement_worker.formats.text import shortened

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
