"""Base classes of the commands of placement-policy.

A command ends in one line per error, with a hint and the exit status of the command; wrong
arguments too, for which argparse would print its usage. The text that a plugin prints goes to the
standard error, where it spoils no JSON. A long run shows its time on a terminal.
"""

import argparse
import contextlib
import functools
import os
import sys
import textwrap
import threading
import time
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, NoReturn, Self, TextIO

from cliff import command
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import cli, file_errors, output
from placement_worker.cmd.output import Paint
from placement_worker.formats.documents import DocumentError
from placement_worker.formats.text import did_you_mean, escaped, escaped_lines

OK, SOME_ERROR, INVALID = 0, 1, 2
_HELP_WIDTH = 79
_UNKNOWN_ARGUMENTS = 'unrecognized arguments: '  # the beginning of argparse's error


class LocalCommand(command.Command):
    """A command with examples, whose errors end with a line and an exit status."""

    examples: ClassVar[Sequence[str]]  # command lines for `--help`
    epilog: ClassVar[str]  # the meaning of the exit status
    error_status: ClassVar[int] = INVALID  # if the command cannot run
    status = OK  # of a command that returns rows and no exit status
    conflict_handler = 'error'  # argparse's; cliff's own would drop an option silently
    _parser: argparse.ArgumentParser | None = None

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
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.error = functools.partial(self._refuse, prog_name)  # type: ignore[method-assign]
        self._parser = parser
        self.add_arguments(parser)
        return parser

    @override
    def get_epilog(self) -> str:
        # cliff's method searches all distributions for the one that has this command.
        examples = ['Examples:', *(f'  {example}' for example in self.examples), '']
        return '\n'.join([*examples, textwrap.fill(self.epilog, _HELP_WIDTH)])

    @override
    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            # A plugin may print; commands write to `self.app.stdout`, so their output stays alone.
            with (
                self.progress if self._may_wait(parsed_args) else contextlib.nullcontext(),
                contextlib.redirect_stdout(self.app.stderr),
            ):
                return int(super().run(parsed_args)) or self.status
        except BrokenPipeError:
            # The reader has closed the pipe; the flush at exit must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
        except (errors.PlacementWorkerError, DocumentError, OSError) as exc:
            if self.app.options.debug:
                lines = ''.join(traceback.format_exception(exc)).rstrip()
                print(escaped_lines(lines), file=self.app.stderr)
            status = self.write_error(file_errors.with_hint(exc))
            self.write_details(exc if isinstance(exc, DocumentError) else exc.__cause__)
            return status

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def write(self, text: str) -> None:
        with self.printing():
            print(text, file=self.app.stdout)

    @contextlib.contextmanager
    def printing(self) -> Iterator[None]:
        """Flush at the end: a script may wait for a line, and a closed pipe fails here.

        At the exit of the program, Python would report the pipe.
        """
        with self.progress.hidden():
            yield
            self.app.stdout.flush()

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

    def write_details(self, error: BaseException | None) -> None:
        if isinstance(error, DocumentError):
            for line in file_errors.problem_lines(error):
                print(line, file=self.app.stderr)

    def _may_wait(self, args: argparse.Namespace) -> bool:
        """Return whether a person waits at the terminal, and does not type the input there."""
        is_typed = '-' in getattr(args, 'files', ()) and sys.stdin.isatty()
        return bool(self.app.stderr.isatty()) and not is_typed

    def _refuse(self, prog_name: str, message: str) -> NoReturn:
        usage = f'run "{prog_name} --help" for the usage'
        raise SystemExit(self.write_error(f'{message}{self._meant(message)}; {usage}'))

    def _meant(self, message: str) -> str:
        _, unknown, names = message.partition(_UNKNOWN_ARGUMENTS)
        if not unknown or not names.startswith('-') or self._parser is None:
            return ''
        name = names.split()[0].partition('=')[0]
        words = [word.strip('[]') for word in self._parser.format_usage().split()]
        known = [word for word in words if word.startswith('--')]
        return did_you_mean(name, known, '')


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
