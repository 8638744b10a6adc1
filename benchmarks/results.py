"""The results of a benchmark: tables, JSON, and bars that are met or missed."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Bar:
    """A ratio that must not exceed a limit."""

    what: str
    figure: float
    limit: float


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


def verdict(runs: Sequence[Iterable[Bar]]) -> tuple[Table, bool]:
    """Return a table of the bars of several runs, and whether each median is within its limit."""
    found: dict[str, list[Bar]] = {}
    for bars in runs:
        for bar in bars:
            found.setdefault(bar.what, []).append(bar)
    rows, all_met = [], True
    for what, bars in found.items():
        figures = [bar.figure for bar in bars]
        met = statistics.median(figures) <= bars[0].limit
        all_met &= met
        row = {
            'bar': what,
            'at most': f'{bars[0].limit:.2f}',
            'median': f'{statistics.median(figures):.2f}',
            'runs': f'{min(figures):.2f} to {max(figures):.2f}',
            'met': 'yes' if met else 'NO',
        }
        rows.append(row)
    return Table('Bars', rows, f'Ratios of {len(runs)} runs.'), all_met


def document(results: Mapping[str, Result], machine: Row) -> dict[str, Any]:
    """Return all results of a run as plain data."""
    parts = {name: asdict(result) for name, result in results.items()}
    return {'machine': dict(machine), 'parts': parts}


def shown(value: object) -> str:
    """Return a cell; numbers have three significant digits."""
    if value is None:
        return '-'
    if isinstance(value, float):
        return f'{value:.0f}' if abs(value) >= 100 else f'{value:.3g}'
    return str(value)
