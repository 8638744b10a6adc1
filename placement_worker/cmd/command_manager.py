"""The commands of placement-policy by name, without the import of their modules."""

import argparse
import inspect
import itertools
from importlib import metadata
from typing import Any

from cliff import app, commandmanager, help  # noqa: A004  # cliff names it so
from typing_extensions import override

from placement_worker.cmd import summaries

COLUMN_WIDTH = 13


class Commands(commandmanager.CommandManager):
    """The commands that entry points name; only the command that runs is imported."""

    @override
    def load_commands(self, namespace: str) -> None:
        self.group_list.append(namespace)
        for found in metadata.entry_points(group=namespace):
            self.commands[found.name.replace('_', ' ')] = found

    @override
    def find_command(self, argv: list[str]) -> tuple[type[Any], str, list[str]]:
        # cliff's method also runs `parked drop` for `parked d`.
        words = list(itertools.takewhile(lambda word: not word.startswith('-'), argv))
        for length in range(len(words), 0, -1):
            name = ' '.join(words[:length])
            if name in self.commands:
                return self.commands[name].load(), name, argv[length:]
        raise ValueError(f'Unknown command {argv!r}')


class Help(help.HelpCommand):
    """Print detailed help for another command."""

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.cmd:
            status: int = super().take_action(parsed_args)
            return status
        print_overview(self.app)
        return 0


def print_overview(program: app.App) -> None:
    """Print the options of the program and a summary of each command."""
    program.parser.print_help(program.stdout)
    print('\nCommands:', file=program.stdout)
    for name, found in sorted(program.command_manager):
        summary = summaries.SUMMARIES.get(name) or inspect.getdoc(found.load()) or ''
        first_line = summary.partition('\n')[0].rstrip('.')
        print(f'  {name:<{COLUMN_WIDTH}}  {first_line}', file=program.stdout)
