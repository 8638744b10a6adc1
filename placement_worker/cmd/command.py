"""What the commands of placement-policy have in common: who answers, exit status, one-line errors."""

import argparse
import contextlib
from abc import abstractmethod
from typing import ClassVar

from cliff import command

from placement_worker import documents, errors
from placement_worker.cmd import answering
from placement_worker.rpc.caller import Caller

OK, SOME_ERROR, INVALID = 0, 1, 2


class Command(command.Command):
    """A command that a worker answers."""

    epilog: ClassVar[str | None] = None

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The command's own arguments, and those that choose who answers."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        self.add_arguments(parser)
        self.add_who_answers(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Run it; what goes wrong is told in one line."""
        try:
            with self.answering(parsed_args) as caller:
                return self.run_with(caller, parsed_args)
        except OSError as exc:
            return self.complain(errors.told(exc))
        except (errors.PlacementWorkerError, documents.Malformed) as exc:
            return self.complain(str(exc))

    def add_who_answers(self, parser: argparse.ArgumentParser) -> None:
        """The arguments that choose who answers."""
        answering.add_arguments(parser)

    def answering(self, args: argparse.Namespace) -> contextlib.AbstractContextManager[Caller]:
        """Who answers."""
        return answering.by(args)

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""

    @abstractmethod
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Do it, and return the exit status."""

    def say(self, text: str) -> None:
        """Print at once: somebody may wait for this line before writing the next."""
        print(text, file=self.app.stdout, flush=True)

    def get_epilog(self) -> str:
        """What stands below the arguments; cliff would look through all distributions for the one it is from."""
        return self.epilog or ''

    def complain(self, message: str) -> int:
        """Say in one line what is wrong."""
        print(f'{self.app.NAME} {self.cmd_name}: {message}', file=self.app.stderr)
        return INVALID
