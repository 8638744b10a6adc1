"""What the commands of placement-policy have in common: who answers, exit status, one-line
errors.
"""

import argparse
import contextlib
import functools
import os
import sys
import textwrap
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NoReturn

from cliff import command

from placement_worker import errors
from placement_worker.cmd import hints, targets
from placement_worker.contract.caller import Caller
from placement_worker.formats import documents
from placement_worker.formats.escaping import escaped

OK, SOME_ERROR, INVALID = 0, 1, 2
HELP_WIDTH = 79


class LocalCommand(command.Command):
    """A command that runs in this process alone.

    :cvar examples: command lines that `--help` shows.
    :cvar epilog: what the exit status means.
    :cvar failed: the exit status for wrong arguments and whatever else keeps it from being run.
    """

    examples: ClassVar[Sequence[str]] = ()
    epilog: ClassVar[str] = ''
    failed: ClassVar[int] = INVALID

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The command's own arguments, with examples of their use."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.error = functools.partial(self._refuse, prog_name)  # type: ignore[method-assign]
        self.add_arguments(parser)
        return parser

    def get_epilog(self) -> str:
        """What stands below the arguments; cliff would look through all distributions for the one
        it is from.
        """
        shown = (
            ['Examples:', *(f'  {example}' for example in self.examples), '']
            if self.examples
            else []
        )
        return '\n'.join([*shown, textwrap.fill(self.epilog, HELP_WIDTH)])

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run it; what goes wrong is told in one line."""
        try:
            return int(super().run(parsed_args))
        except BrokenPipeError:  # whoever reads has seen enough
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
            )  # else the rest is written at exit
            raise
        except (errors.PlacementWorkerError, documents.Malformed, OSError) as exc:
            return self.complain(hints.told(exc))

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""

    def say(self, text: str) -> None:
        """Print at once: somebody may wait for this line before writing the next."""
        print(text, file=self.app.stdout, flush=True)

    def complain(self, message: str) -> int:
        """Say in one line what is wrong."""
        print(escaped(f'{self.app.NAME} {self.cmd_name}: {message}'), file=self.app.stderr)
        return self.failed

    def _refuse(self, prog_name: str, message: str) -> NoReturn:
        """Wrong arguments: one line like for any other fault, and the exit status that the command
        has for them.
        """
        raise SystemExit(self.complain(f'{message}; {prog_name} --help shows how'))


class Command(LocalCommand):
    """A command that a worker answers."""

    _mentioned = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The command's own arguments, and those that choose who answers."""
        parser = super().get_parser(prog_name)
        self.add_who_answers(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Have it answered."""
        with self.answering(parsed_args) as caller:
            return self.run_with(caller, parsed_args)

    def add_who_answers(self, parser: argparse.ArgumentParser) -> None:
        """The arguments that choose who answers."""
        targets.add_arguments(parser)

    def answering(self, args: argparse.Namespace) -> contextlib.AbstractContextManager[Caller]:
        """Who answers."""
        return targets.by(args)

    def mention_cloud(self, args: argparse.Namespace, path: str) -> None:
        """Say once which cloud an answer is about, if that is not what the user named."""
        if not self._mentioned and targets.on_shipped_cloud(args, path):
            self.complain(
                'this is about the shipped cloud of the examples; --cloud FILE names another one'
            )
            self._mentioned = True

    @abstractmethod
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Do it, and return the exit status."""
