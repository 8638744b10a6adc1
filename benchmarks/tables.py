"""Tables of results as the pages of the manual show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows with the same columns."""

    title: str
    rows: Sequence[Row]

    def __str__(self) -> str:
        """Return a simple table of reStructuredText."""
        columns = list(dict.fromkeys(column for row in self.rows for column in row))
        cells = [columns, *([_cell(row.get(column)) for column in columns] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rule = '  '.join('=' * width for width in widths)
        lines = [
            '  '.join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
            for line in cells
        ]
        title = [self.title, '-' * len(self.title), '']
        return '\n'.join([*title, rule, lines[0], rule, *lines[1:], rule, ''])


def _cell(value: object) -> str:
    """Return a cell; fractions have three significant digits."""
    if value is None:
        return '-'
    if isinstance(value, float):
        return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'
    return str(value)
