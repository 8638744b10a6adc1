"""Write tables in reStructuredText."""

import re
from collections.abc import Iterable, Iterator, Sequence


def list_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], header: bool = True, widths: str = 'auto'
) -> Iterator[str]:
    """Yield the lines of a list-table, or nothing without rows."""
    shown = [head, *rows] if header else list(rows)
    if len(shown) == header:
        return
    yield '.. list-table::'
    yield f'   :header-rows: {int(header)}'
    yield f'   :widths: {widths}'
    yield ''
    for row in shown:
        for column, cell in enumerate(row):
            yield f'   {"*" if column == 0 else " "} - {cell}'
    yield ''


def label(name: str) -> list[str]:
    """Return the lines of a target for `:ref:`."""
    return [f'.. _{name}:', '']


def labelled_cell(kind: str, name: str) -> str:
    """Return a cell with a name in code font, and a target `KIND-NAME`."""
    return f'.. _{kind}-{name}:\n\n       ``{name}``'


def plain(docstring: str | None) -> str:
    """Return a docstring as one paragraph with literal code."""
    return re.sub(r'`([^`]+)`', r'``\1``', ' '.join((docstring or '').split()))
