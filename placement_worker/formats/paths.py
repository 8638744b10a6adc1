"""Paths of values in a document, as errors show them: `$.cluster.nodes[3].index`."""

import re

from placement_worker.formats.text import shortened

Path = tuple[str | int, ...]
"""The keys and indices from the root of a document to a value."""
_STEP = re.compile(r'\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]')
_AT_END = re.compile(r' - at `\$(?P<steps>[^`]*)`')


def shown(path: Path) -> str:
    """Return a path in words of msgspec's errors."""
    return '$' + ''.join(
        f'[{step}]' if isinstance(step, int) else f'.{shortened(step)}' for step in path
    )


def named_in(message: str) -> Path | None:
    """Return the path that an error names, up to a key that it does not spell out, or None."""
    named = _AT_END.search(message)
    if named is None:
        return None
    path: list[str | int] = []
    end = 0
    for step in _STEP.finditer(named['steps']):
        if step.start() != end:  # `[...]` stands for any key
            break
        path.append(int(step['index']) if step['index'] else step['key'])
        end = step.end()
    return tuple(path)
