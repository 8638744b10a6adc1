"""The commands of placement-policy: found without importing them, as importing all takes longer
than a check.
"""

import argparse
import ast
from importlib import abc, metadata, util
from typing import Any

from cliff import app, commandmanager, help  # noqa: A004  # cliff's name for it

COLUMN = 13


class Commands(commandmanager.CommandManager):
    """The commands that entry points name; one is imported when it is run."""

    def load_commands(self, namespace: str) -> None:
        """Know them by name; cliff's own way imports them all."""
        self.group_list.append(namespace)
        for found in metadata.entry_points(group=namespace):
            self.commands[found.name.replace('_', ' ')] = found


class Help(help.HelpCommand):
    """Print detailed help for another command."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Without a command: show which there are."""
        if parsed_args.cmd:
            status: int = super().take_action(parsed_args)
            return status
        print_overview(self.app)
        return 0


def print_overview(program: app.App) -> None:
    """Print the program's own options, and its commands with a line each."""
    program.parser.print_help(program.stdout)
    print('\nCommands:', file=program.stdout)
    for name, found in sorted(program.command_manager):
        print(f'  {name:<{COLUMN}}  {summary(found).rstrip(".")}', file=program.stdout)


def summary(found: Any) -> str:
    """The first line of the docstring of what an entry point names, read from its source."""
    module, _, name = found.value.partition(':')
    spec = util.find_spec(module)
    source = (
        spec.loader.get_source(module)
        if spec and isinstance(spec.loader, abc.InspectLoader)
        else None
    )
    classes = (
        node
        for node in ast.parse(source or '').body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    described = next((ast.get_docstring(node) for node in classes), None)
    return (described or '').partition('\n')[0]
