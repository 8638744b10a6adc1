"""Lists and single objects in cliff's formats: table, JSON, YAML, CSV, values; lists as JSON lines.

JSON and YAML have all columns, the other formats those that fit on a screen, or all by `--long`.
Text of the other formats is escaped, as in `output`; JSON and YAML escape by themselves.
"""

import argparse
import contextlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TextIO

import msgspec
from cliff import display, lister, show
from cliff.formatters.base import ListFormatter, SingleFormatter
from msgspec import Struct, structs
from stevedore import extension
from typing_extensions import override

from placement_worker.cmd import output
from placement_worker.cmd.base import LocalCommand
from placement_worker.errors import ConfigurationError
from placement_worker.formats.text import did_you_mean, escaped

DATA = ('json', 'jsonl', 'yaml')  # formats for programs: values stay as they are


def row_of(struct: Struct) -> dict[str, Any]:
    """Return all fields as plain data; msgspec omits defaults, and rows would lack columns."""
    fields: dict[str, Any] = msgspec.to_builtins(structs.asdict(struct))
    return fields


class _JsonLines(ListFormatter):
    @override
    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        pass

    @override
    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        rows = (dict(zip(column_names, row, strict=True)) for row in data)
        stdout.writelines(f'{json.dumps(row)}\n' for row in rows)


class _Display(LocalCommand, display.DisplayCommandBase):  # type: ignore[type-arg]  # cliff 4.11
    def printed(
        self, names: Sequence[str], rows: Sequence[Sequence[Any]], args: argparse.Namespace
    ) -> tuple[list[str], list[list[Any]]]:
        """Return titles and cells in the format of the output, and refuse an unknown column."""
        for column in [*args.columns, *getattr(args, 'sort_columns', ())]:
            if names and column.lower().strip().replace(' ', '_') not in names:
                meant = did_you_mean(column, names, '')
                raise ConfigurationError(
                    f'Unknown column {column}{meant}; the columns are {", ".join(names)}'
                )
        if args.formatter in DATA:
            return list(names), [list(row) for row in rows]
        # cliff fits a table into the terminal of sys.stdout, which is the standard error here.
        args.fit_width = args.fit_width or self.app.stdout.isatty()
        is_table = args.formatter == 'table'
        titles = [escaped(name.replace('_', ' ') if is_table else name) for name in names]
        separator = '\n' if is_table else ', '
        return titles, [[output.cell(value, separator) for value in row] for row in rows]

    @contextlib.contextmanager
    def formatting(self, args: argparse.Namespace) -> Iterator[None]:
        try:
            with self.printing():
                yield
        except RecursionError:  # YAML takes more frames for a level than JSON
            raise ConfigurationError(
                f'A value is nested too deeply for the format {args.formatter}; use -f json'
            ) from None


class Lister(_Display, lister.Lister):
    nothing: ClassVar[str] = ''  # a sentence in place of an empty table
    has_more: ClassVar[bool] = False  # whether --long adds columns

    @override
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.set_defaults(long=False)
        if self.has_more:
            parser.add_argument('--long', action='store_true', help='show all columns')
        return parser

    @abstractmethod
    def rows(self, args: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
        """Return rows by column; set `status` unless the command succeeded."""

    def is_long(self, args: argparse.Namespace) -> bool:
        return args.long or args.formatter in DATA

    @override
    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        rows = list(self.rows(parsed_args))
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return columns, [[row.get(column) for column in columns] for row in rows]

    @override
    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Any
    ) -> int:
        if not data and parsed_args.formatter not in DATA:
            if self.nothing and parsed_args.formatter == 'table':
                self.write(self.nothing)
            return 0
        titles, rows = self.printed(column_names, data, parsed_args)
        parsed_args.columns = parsed_args.columns if data else []
        with self.formatting(parsed_args):
            return super().produce_output(parsed_args, titles, rows)

    @override
    def _load_formatter_plugins(self) -> 'extension.ExtensionManager[ListFormatter]':
        # An entry point would give the format to all programs of the environment that use cliff.
        formatters = super()._load_formatter_plugins()
        lines = extension.Extension('jsonl', None, _JsonLines, _JsonLines())  # type: ignore[arg-type]
        formatters.extensions.append(lines)
        return formatters


class ShowOne(_Display, show.ShowOne):
    @abstractmethod
    def fields(self, args: argparse.Namespace) -> Mapping[str, Any]: ...

    @override
    def _load_formatter_plugins(self) -> 'extension.ExtensionManager[SingleFormatter]':
        # A shell would run $(commands) in the values of cliff's format "shell".
        formatters = super()._load_formatter_plugins()
        kept = [formatter for formatter in formatters if formatter.name != 'shell']
        formatters.extensions[:] = kept
        return formatters

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        fields = self.fields(parsed_args)
        return list(fields), list(fields.values())

    @override
    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Sequence[Any]
    ) -> int:
        titles, (row,) = self.printed(column_names, [data], parsed_args)
        with self.formatting(parsed_args):
            return super().produce_output(parsed_args, titles, row)
