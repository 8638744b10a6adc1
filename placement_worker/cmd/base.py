"""Base classes of the commands of placement-policy: arguments, exit status, one-line errors."""

import argparse
import contextlib
import difflib
import functools
import os
import sys
import textwrap
import traceback
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, NoReturn

from cliff import command
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import file_errors, hints, misspellings, summaries, targets
from placement_worker.cmd.progress import Progress
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest
from placement_worker.formats.documents import Document, DocumentError, Invalid
from placement_worker.formats.text import escaped, escaped_lines
from placement_worker.handlers.in_process import InProcessCaller

OK, SOME_ERROR, INVALID = 0, 1, 2
HELP_WIDTH = 79
UNKNOWN_ARGUMENTS = 'unrecognized arguments: '
"""The beginning of argparse's error."""


class LocalCommand(command.Command):
    """A command that needs no worker.

    :cvar examples: command lines for `--help`.
    :cvar epilog: the meaning of the exit status.
    :cvar error_status: the exit status if the command cannot run, e.g. for wrong arguments.
    :cvar shows_progress: whether to show the elapsed time of a long run on a terminal.
    """

    examples: ClassVar[Sequence[str]] = ()
    epilog: ClassVar[str] = ''
    error_status: ClassVar[int] = INVALID
    shows_progress: ClassVar[bool] = True
    _is_local = False
    _progress: Progress | None = None
    _parser: argparse.ArgumentParser | None = None

    @override
    def get_description(self) -> str:
        return summaries.SUMMARIES.get(self.cmd_name or '') or super().get_description()

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
        shown = examples if self.examples else []
        return '\n'.join([*shown, textwrap.fill(self.epilog, HELP_WIDTH)])

    @override
    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            # A plugin may print; commands write to `self.app.stdout`, so their output stays alone.
            with (
                self._showing_progress(parsed_args),
                contextlib.redirect_stdout(self.app.stderr),
            ):
                return int(super().run(parsed_args))
        except BrokenPipeError:
            # The reader has closed the pipe; the flush at exit must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise
        except (errors.PlacementWorkerError, DocumentError, OSError) as exc:
            if self.app.options.debug:
                lines = ''.join(traceback.format_exception(exc)).rstrip()
                print(escaped_lines(lines), file=self.app.stderr)
            status = self.write_error(hints.with_hint(exc))
            self._write_details(exc if isinstance(exc, DocumentError) else exc.__cause__)
            return status

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""

    def write(self, text: str) -> None:
        """Print at once; a script may wait for this line before it writes the next request."""
        with self._progress.hidden() if self._progress else contextlib.nullcontext():
            print(text, file=self.app.stdout, flush=True)

    def write_error(self, message: str) -> int:
        """Print one line to the standard error, and return the exit status for errors."""
        with self._progress.hidden() if self._progress else contextlib.nullcontext():
            print(escaped(f'{self.app.NAME} {self.cmd_name}: {message}'), file=self.app.stderr)
        return self.error_status

    @contextlib.contextmanager
    def _showing_progress(self, args: argparse.Namespace) -> Iterator[None]:
        """Show the elapsed time on a terminal, unless the user types the input there."""
        typed = '-' in getattr(args, 'files', ()) and sys.stdin.isatty()
        if typed or not self.shows_progress or not self.app.stderr.isatty():
            yield
            return
        with Progress(self.app.stderr, f'{self.app.NAME} {self.cmd_name}') as self._progress:
            yield

    def write_refusal(
        self, exc: errors.PlacementWorkerError, document: Document, kind: type, text: str = ''
    ) -> int:
        """Print all errors of a document to the standard error, and return the exit status.

        :param kind: the type that the document should describe.
        :param text: the text of the error if its paths differ from those of the document.
        """
        error = file_errors.of(exc, document, kind, text or str(exc), is_local=self._is_local)
        line = hints.with_hint(exc, file_errors.headline(error, document))
        type_name = file_errors.type_of(exc, error, document.data, kind) or hints.ANY_TYPE
        self.write_error(line.replace(hints.ANY_TYPE, type_name))
        self._write_details(error)
        return self.error_status

    def write_invalid(self, error: Invalid, document: Document) -> None:
        """Print the errors of a document to the standard error, without a hint."""
        self.write_error(file_errors.headline(error, document))
        self._write_details(error)

    def _write_details(self, error: BaseException | None) -> None:
        if isinstance(error, DocumentError):
            for line in file_errors.details(error):
                print(line, file=self.app.stderr)

    def _refuse(self, prog_name: str, message: str) -> NoReturn:
        """Report wrong arguments in one line, with the exit status of this command."""
        usage = f'run "{prog_name} --help" for the usage'
        raise SystemExit(self.write_error(f'{message}{self._meant(message)}; {usage}'))

    def _meant(self, message: str) -> str:
        """Return the option that is probably meant, e.g. ' (did you mean --cloud?)', if any."""
        _, unknown, names = message.partition(UNKNOWN_ARGUMENTS)
        if not unknown or not names.startswith('-') or self._parser is None:
            return ''
        name = names.split()[0].partition('=')[0]
        words = [word.strip('[]') for word in self._parser.format_usage().split()]
        known = [word for word in words if word.startswith('--')]
        near = difflib.get_close_matches(name, known, n=1)
        return f' (did you mean {near[0]}?)' if near else ''


class Command(LocalCommand):
    """A command that calls a worker."""

    _cloud_noted = False

    @override
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        self.add_target_arguments(parser)
        return parser

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        with self.open_caller(parsed_args) as caller:
            self._is_local = isinstance(caller, InProcessCaller)
            return self.run_with(caller, parsed_args)

    def add_target_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments that choose the worker."""
        targets.add_arguments(parser)

    def open_caller(self, args: argparse.Namespace) -> contextlib.AbstractContextManager[Caller]:
        """Return the caller of the worker that the arguments choose."""
        return targets.open_caller(args)

    def note_shipped_cloud(self, args: argparse.Namespace, path: str) -> None:
        """Note once that the reply is about the shipped cloud, unless the user chose a cloud."""
        if not self._cloud_noted and targets.uses_shipped_cloud(args, path):
            self.write_error(
                'This decision is for the shipped cloud of the examples; use --cloud FILE for '
                'another cloud'
            )
            self._cloud_noted = True

    def note_misspellings(self, request: CheckRequest, document: Document) -> None:
        """Note the values that the contract allows, but that are probably misspelled."""
        for sentence in misspellings.describe(request, document.data):
            self.write_error(sentence)

    @abstractmethod
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Run the command with a caller, and return the exit status."""
