"""The results of a benchmark: tables, JSON, and bars that are met or missed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Bar:
    """A figure that must not exceed a limit."""

    what: str
    figure: float
    limit: float
    unit: str = ''

    @property
    def met(self) -> bool:
        return self.figure <= self.limit


@dataclass(frozen=True)
class Table:
    """Rows with the same columns; `note` describes the measurement."""

    title: str
    rows: Sequence[Row]
    note: str = ''


@dataclass
class Result:
    """The result of one part of the benchmarks."""

    tables: list[Table] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)


def text(table: Table) -> str:
    """Return the table as a simple table of reStructuredText, for the README."""
    columns = list(dict.fromkeys(column for row in table.rows for column in row))
    cells = [columns, *([shown(row.get(column)) for column in columns] for row in table.rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    rule = '  '.join('=' * width for width in widths)
    lines = [
        '  '.join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    ]
    parts = [table.title, '-' * len(table.title), *([table.note, ''] if table.note else [''])]
    return '\n'.join([*parts, rule, lines[0], rule, *lines[1:], rule, ''])


def bars_text(bars: Iterable[Bar]) -> str:
    """Return a line per bar."""
    return '\n'.join(
        f'{"met   " if bar.met else "MISSED"}  {bar.what}: {shown(bar.figure)} (at most '
        f'{shown(bar.limit)}) {bar.unit}'
        for bar in bars
    )


def document(results: Mapping[str, Result], machine: Row) -> dict[str, Any]:
    """Return all results as plain data."""
    return {
        'machine': dict(machine),
        'parts': {
            name: {
                'tables': [asdict(table) for table in result.tables],
                'bars': [{**asdict(bar), 'met': bar.met} for bar in result.bars],
            }
            for name, result in results.items()
        },
    }


def shown(value: object) -> str:
    """Return a cell; numbers have three significant digits."""
    if value is None:
        return '-'
    if isinstance(value, float):
        return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'
    return str(value)
