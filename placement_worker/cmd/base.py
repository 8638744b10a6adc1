"""Base classes of the commands of placement-policy.

A command ends in one line per error, with a hint and the exit status of the command; wrong
arguments too, for which argparse would print its usage. The text that a plugin prints goes to the
standard error, where it spoils no JSON. A long run shows its time on a terminal.

Lists and single objects have cliff's formats, lists also JSON lines. JSON and YAML have all
columns, the other formats those that fit on a screen, or all by `--long`. Text of the other formats
is escaped, as in `output`; JSON and YAML escape by themselves.
"""

import argparse
import contextlib
import functools
import io
import json
import os
import sys
import textwrap
import threading
import time
import traceback
from abc import abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self, TextIO

import msgspec
from cliff import command, display, lister, show
from cliff.formatters.base import ListFormatter, SingleFormatter
from msgspec import Struct, structs
from stevedore import extension
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import cli, file_errors, output
from placement_worker.cmd.output import Paint
from placement_worker.formats.documents import DocumentError
from placement_worker.formats.text import did_you_mean, escaped, escaped_lines

OK, SOME_ERROR, INVALID = 0, 1, 2
DATA = ('json', 'jsonl', 'yaml')  # formats for programs: values stay as they are
_HELP_WIDTH = 79
_UNKNOWN_ARGUMENTS = 'unrecognized arguments: '  # the beginning of argparse's error


class LocalCommand(command.Command):
    """A command with examples, whose errors end with a line and an exit status."""

    examples: ClassVar[Sequence[str]]  # command lines for `--help`
    epilog: ClassVar[str]  # the meaning of the exit status
    error_status: ClassVar[int] = INVALID  # if the command cannot run
    status = OK  # of a command that returns rows and no exit status
    conflict_handler = 'error'  # argparse's; cliff's own would drop an option silently

    @functools.cached_property
    def _results(self) -> list[object]:
        return []

    @functools.cached_property
    def progress(self) -> 'Progress':
        return Progress(self.app.stderr, f'{self.app.NAME} {self.cmd_name}')

    @property
    def paint(self) -> Paint:
        return Paint.of(self.app.stdout)

    @override
    def get_description(self) -> str:
        return cli.SUMMARIES.get(self.cmd_name or '') or super().get_description()

    @override
    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser: ArgumentParser = super().get_parser(prog_name)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.error = functools.partial(self._refuse, parser)  # type: ignore[method-assign]
        self.add_arguments(parser)
        return parser

    @override
    def get_epilog(self) -> str:
        # cliff's method searches all distributions for the one that has this command.
        examples = ['Examples:', *(f'  {example}' for example in self.examples), '']
        return '\n'.join([*examples, textwrap.fill(self.epilog, _HELP_WIDTH)])

    @override
    def run(self, parsed_args: Namespace) -> int:
        is_typed = '-' in getattr(parsed_args, 'files', ()) and sys.stdin.isatty()
        may_wait = self.app.stderr.isatty() and not is_typed
        progress = self.progress if may_wait else contextlib.nullcontext()
        try:
            # A plugin may print; commands write to `self.app.stdout`, so their output stays alone.
            with progress, contextlib.redirect_stdout(self.app.stderr):
                return int(super().run(parsed_args)) or self.status
        except BrokenPipeError:
            # The reader has closed the pipe; the flush at exit must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
        except (errors.PlacementWorkerError, DocumentError, OSError) as exc:
            if self.app.options.debug:
                lines = ''.join(traceback.format_exception(exc)).rstrip()
                print(escaped_lines(lines), file=self.app.stderr)
            return self.write_failure(exc, exc if isinstance(exc, DocumentError) else exc.__cause__)

    @abstractmethod
    def add_arguments(self, parser: ArgumentParser) -> None: ...

    def write(self, text: str) -> None:
        with self.progress.hidden():
            # A script may wait for a line, and at the exit, Python would report a closed pipe.
            print(text, file=self.app.stdout, flush=True)

    def write_result(self, form: str, data: object, lines: Iterable[str] = ()) -> None:
        """Print the lines as the table of a format, or else the data; keep those for JSON."""
        if form == 'json':
            self._results.append(data)
        else:
            self.write('\n'.join(lines) if form == 'table' else output.document(data, form))

    def write_kept(self, *, as_array: bool) -> None:
        """Print what was kept for JSON: one text, which programs read at once."""
        if self._results:
            self.write(output.document(self._results if as_array else self._results[0], 'json'))

    def write_error(self, message: str) -> int:
        with self.progress.hidden():
            print(escaped(f'{self.app.NAME} {self.cmd_name}: {message}'), file=self.app.stderr)
        return self.error_status

    def write_failure(self, exc: Exception, cause: BaseException | None, text: str = '') -> int:
        """Print the text, or that of the error, and the places in a document that is the cause."""
        status = self.write_error(file_errors.with_hint(exc, text))
        if isinstance(cause, DocumentError):
            for line in file_errors.problem_lines(cause):
                print(line, file=self.app.stderr)
        return status

    def _refuse(self, parser: ArgumentParser, message: str) -> NoReturn:
        meant, names = '', message.partition(_UNKNOWN_ARGUMENTS)[2]
        if names.startswith('-'):
            words = (word.strip('[]') for word in parser.format_usage().split())
            known = [word for word in words if word.startswith('--')]
            meant = did_you_mean(names.split()[0].partition('=')[0], known, '')
        usage = f'run "{parser.prog} --help" for the usage'
        raise SystemExit(self.write_error(f'{message}{meant}; {usage}'))


def row_of(struct: Struct) -> dict[str, Any]:
    """Return all fields as plain data; msgspec omits defaults, and rows would lack columns."""
    fields: dict[str, Any] = msgspec.to_builtins(structs.asdict(struct))
    return fields


class _JsonLines(ListFormatter):
    @override
    def add_argument_group(self, parser: ArgumentParser) -> None:
        pass

    @override
    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: Namespace,
    ) -> None:
        rows = (dict(zip(column_names, row, strict=True)) for row in data)
        stdout.writelines(f'{json.dumps(row)}\n' for row in rows)


class _Display(LocalCommand, display.DisplayCommandBase):  # type: ignore[type-arg]  # cliff 4.11
    def titles_and_cells(
        self, names: Sequence[str], rows: Sequence[Sequence[Any]], args: Namespace
    ) -> tuple[list[str], list[list[Any]]]:
        """Return titles and cells in the format of the output, and refuse an unknown column."""
        for column in [*args.columns, *getattr(args, 'sort_columns', ())]:
            if names and column.lower().strip().replace(' ', '_') not in names:
                meant = did_you_mean(column, names, '')
                raise errors.ConfigurationError(
                    f'Unknown column {column}{meant}; the columns are {", ".join(names)}'
                )
        if args.formatter in DATA:
            return list(names), [list(row) for row in rows]
        is_table = args.formatter == 'table'
        titles = [escaped(name.replace('_', ' ') if is_table else name) for name in names]
        separator = '\n' if is_table else ', '
        return titles, [[output.cell(value, separator) for value in row] for row in rows]

    @contextlib.contextmanager
    def formatting(self, args: Namespace) -> Iterator[None]:
        """Print what is formatted at the end: a format may fail in the middle of a value."""
        stdout, self.app.stdout = self.app.stdout, io.StringIO()
        # cliff fits a table into the terminal of sys.stdout, which is the standard error here.
        args.fit_width = args.fit_width or stdout.isatty()
        try:
            yield
            text = self.app.stdout.getvalue()
        except RecursionError:  # YAML takes more frames for a level than JSON
            raise errors.ConfigurationError(
                f'A value is nested too deeply for the format {args.formatter}; use another format'
            ) from None
        finally:
            self.app.stdout = stdout
        if text:
            self.write(text.removesuffix('\n'))


class Lister(_Display, lister.Lister):
    nothing: ClassVar[str] = ''  # a sentence in place of an empty table
    has_more: ClassVar[bool] = False  # whether --long adds columns

    @override
    def get_parser(self, prog_name: str) -> ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.set_defaults(long=False)
        if self.has_more:
            parser.add_argument('--long', action='store_true', help='show all columns')
        return parser

    @abstractmethod
    def rows(self, args: Namespace) -> Iterable[Mapping[str, Any]]:
        """Return rows by column; set `status` unless the command succeeded."""

    def is_long(self, args: Namespace) -> bool:
        return args.long or args.formatter in DATA

    @override
    def take_action(self, parsed_args: Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        rows = list(self.rows(parsed_args))
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return columns, [[row.get(column) for column in columns] for row in rows]

    @override
    def produce_output(self, parsed_args: Namespace, column_names: Sequence[str], data: Any) -> int:
        if not data and parsed_args.formatter not in DATA:
            if self.nothing and parsed_args.formatter == 'table':
                self.write(self.nothing)
            return 0
        titles, rows = self.titles_and_cells(column_names, data, parsed_args)
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
    def fields(self, args: Namespace) -> Mapping[str, Any]: ...

    @override
    def _load_formatter_plugins(self) -> 'extension.ExtensionManager[SingleFormatter]':
        # A shell would run $(commands) in the values of cliff's format "shell".
        formatters = super()._load_formatter_plugins()
        kept = [formatter for formatter in formatters if formatter.name != 'shell']
        formatters.extensions[:] = kept
        return formatters

    @override
    def take_action(self, parsed_args: Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        fields = self.fields(parsed_args)
        return list(fields), list(fields.values())

    @override
    def produce_output(self, parsed_args: Namespace, column_names: Sequence[str], data: Any) -> int:
        with self.formatting(parsed_args):
            titles, (row,) = self.titles_and_cells(column_names, [data], parsed_args)
            return super().produce_output(parsed_args, titles, row)


_CLEAR = '\r\x1b[K'


class Progress:
    """A line with the elapsed time on a stream, shown after a delay and cleared at the end."""

    detail: Callable[[], str] = str  # returns the end of the line, e.g. ', step 3 of 5'

    def __init__(
        self, stream: TextIO, name: str, delay_s: float = 2, interval_s: float = 1
    ) -> None:
        self._stream, self._name = stream, name
        self._delay_s, self._interval_s = delay_s, interval_s
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._is_shown = False
        self._thread = threading.Thread(target=self._run, name='progress', daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()
        self._clear()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        with self._lock:
            self._clear()
            yield

    def _run(self) -> None:
        pause_s = self._delay_s
        while not self._ended.wait(pause_s):
            pause_s = self._interval_s
            with self._lock:
                elapsed_s = time.monotonic() - self._began
                self._print(f'{_CLEAR}{self._name}: running for {elapsed_s:.0f} s{self.detail()}')
                self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            self._print(_CLEAR)
            self._is_shown = False

    def _print(self, text: str) -> None:
        print(text, end='', file=self._stream, flush=True)
