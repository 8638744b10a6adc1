"""Tables in reStructuredText, of rows."""

import re
from collections.abc import Iterable, Iterator, Sequence


def drawn(
    head: Sequence[str], rows: Iterable[Sequence[str]], header: bool = True, widths: str = 'auto'
) -> Iterator[str]:
    """The lines of a list-table; empty without rows."""
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
    """A target that `:ref:` finds."""
    return [f'.. _{name}:', '']


def plain(docstring: str | None) -> str:
    """A docstring as one paragraph: its code is set like code."""
    return re.sub(r'`([^`]+)`', r'``\1``', ' '.join((docstring or '').split()))
