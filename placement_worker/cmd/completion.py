"""The command `placement-policy completion`."""

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

import shtab
from cliff import app
from typing_extensions import override

from placement_worker.cmd import types
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.policies.registry import Registry

SHELLS = ('bash', 'fish', 'zsh')
_FILES = ('FILE', 'LOG', 'SCENARIO', 'SPEC')  # metavariables of arguments that are paths


class Completion(LocalCommand):
    examples = (
        'placement-policy completion bash    # for ~/.local/share/bash-completion/completions',
        'placement-policy completion zsh',
    )
    epilog = 'Exit status: 0 success, 2 wrong arguments.'

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument('shell', metavar='SHELL', choices=SHELLS, help=', '.join(SHELLS))

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        script = shtab.complete(_program_parser(self.app), shell=parsed_args.shell)
        self.write(script.rstrip('\n'))
        return OK


def _program_parser(program: app.App) -> ArgumentParser:
    parser = ArgumentParser(
        program.NAME, parents=[program.parser], add_help=False, conflict_handler='resolve'
    )
    commands = parser.add_subparsers()
    groups: dict[str, argparse._SubParsersAction[ArgumentParser]] = {}
    installed = list(Registry.installed().types)
    values: Mapping[str, list[str]] = {'type show': installed, 'schema': types.message_names()}
    for name, entry_point in sorted(program.command_manager):
        group, _, word = name.rpartition(' ')
        if group and group not in groups:
            groups[group] = commands.add_parser(group, help=group).add_subparsers()
        command = entry_point.load()(program, program.options, cmd_name=name)
        own = command.get_parser(f'{program.NAME} {name}')
        for action in own._actions:  # noqa: SLF001  # argparse has no public list
            if action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[union-attr]
            elif action.metavar == 'NAME':
                action.choices = values.get(name, ())
        (groups[group] if group else commands).add_parser(
            word, parents=[own], add_help=False, help=command.get_description()
        )
    return parser
