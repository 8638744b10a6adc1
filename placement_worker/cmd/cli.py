"""The program `placement-policy`: the contract on the command line."""

import codecs
import inspect
import io
import itertools
import json
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from cliff import app, commandmanager, help  # noqa: A004  # cliff names it so
from typing_extensions import override

from placement_worker.formats.text import escaped, nearest, shortened
from placement_worker.worker import log_escaping

SUMMARIES: Mapping[str, str] = {
    'attach': 'Attach policies to clusters; load balancing creates a load balancer and members.',
    'check': 'Decide policy checks, and show the decision of each policy.',
    'clusters': 'List the clusters of decision logs with their nodes by zone.',
    'completion': 'Print the script that completes commands in bash, fish or zsh.',
    'cordon add': 'Close a zone or a region for new nodes until a time.',
    'cordon list': 'List the cordons, including those that have ended.',
    'cordon remove': 'Open cordoned places again, or remove cordons that have ended.',
    'detach': 'Detach policies from clusters; load balancing deletes what attaching created.',
    'export': 'Make a request file of a cluster in Senlin, or of a group in Heat.',
    'parked drop': 'Delete a parked request permanently.',
    'parked list': 'List the parked requests, oldest first.',
    'parked retry': 'Send a parked request to the workers again.',
    'parked show': 'Show a parked request with its secrets masked.',
    'ping': 'Check whether a running worker replies: any worker, or the worker on a host.',
    'plan': 'Show the changes that policy checks would make, without making them.',
    'rebalance': 'Plan the steps that lead the nodes of a cluster to their best counts.',
    'replay': 'Repeat the decisions of a decision log, and show every difference.',
    'schema': 'Print the JSON Schema of a message, or list the messages.',
    'simulate': 'Play a scenario on the embedded cloud, with tables, pictures and a report.',
    'type list': 'List the policy types.',
    'type show': 'Show a policy type with the schema of its properties.',
    'validate': 'Validate policy specs, and print them with their defaults.',
    'why': 'Show what decision logs say about a node, an action or a cluster, and the reasons.',
    'worker list': 'List the processes of running workers that reply.',
}

NAMESPACE = 'placement_worker.cli'
INVALID = 2
COLUMN_WIDTH = 13
# The modules whose warnings are part of a printed reply, or advise workers only.
PRINTED = ('placement_worker.handlers.request_log', 'placement_worker.handlers.decision_state')
# The loggers of the client; a command prints the error that the client raises.
CLIENT = ('placement_worker.client.', 'oslo.messaging.', 'oslo_messaging.')
JSON_ESCAPES = 'json-escapes'  # the name of a codec error handler


class Commands(commandmanager.CommandManager):
    """The commands that entry points name; only the command that runs is imported."""

    @override
    def load_commands(self, namespace: str) -> None:
        self.group_list.append(namespace)
        for entry_point in metadata.entry_points(group=namespace):
            self.commands[entry_point.name.replace('_', ' ')] = entry_point

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
    def take_action(self, parsed_args: Namespace) -> int:
        if parsed_args.cmd:
            status: int = super().take_action(parsed_args)
            return status
        print_overview(self.app)
        return 0


def print_overview(program: app.App) -> None:
    program.parser.print_help(program.stdout)
    print('\nCommands:', file=program.stdout)
    for name, entry_point in sorted(program.command_manager):
        summary = SUMMARIES.get(name) or inspect.getdoc(entry_point.load()) or ''
        first_line = summary.partition('\n')[0].rstrip('.')
        print(f'  {name:<{COLUMN_WIDTH}}  {first_line}', file=program.stdout)


class PlacementPolicy(app.App):
    NAME = 'placement-policy'
    DEFAULT_VERBOSE_LEVEL = 0  # warnings; -v for more

    def __init__(self) -> None:
        super().__init__(
            description='Place the nodes of clusters, in this process or by running workers.',
            version=metadata.version('placement-worker'),
            command_manager=Commands(NAMESPACE),
            deferred_help=True,
        )
        self.command_manager.add_command('help', Help)
        # cliff's command knows bash alone, and no values; `completion` replaces it.
        del self.command_manager.commands['complete']

    @override
    def build_option_parser(self, description: Any, version: Any, *_: Any) -> Any:
        # The program's --log-file would otherwise take the option --log of a command.
        return super().build_option_parser(description, version, {'allow_abbrev': False})

    @override
    def configure_logging(self) -> None:
        others = list(logging.getLogger().handlers)
        super().configure_logging()
        for handler in logging.getLogger().handlers:
            if handler not in others:
                handler.addFilter(_is_not_printed)
        log_escaping.escape_records()
        if not self.options.debug:
            # stevedore also raises the error that it logs.
            logging.getLogger('stevedore').setLevel(logging.CRITICAL)
            # amqp warns of frames that arrive late on a channel that it closes.
            logging.getLogger('amqp').setLevel(logging.ERROR)

    @override
    def print_help_if_requested(self) -> None:
        # cliff's method imports all commands, and searches all distributions for theirs.
        if self.options.deferred_help:
            print_overview(self)
            raise help.HelpExit

    @override
    def run_subcommand(self, argv: list[str]) -> int:
        if argv[0] == 'help':  # cliff turns `check -f json --help` into `help check -f json`
            words = list(itertools.takewhile(lambda word: not word.startswith('-'), argv[1:]))
            argv = [*argv[:1], *words] if words or not argv[1:] else argv[1:]
        # cliff's method reports an unknown command in several lines, on the standard output.
        words = argv[1:] if argv[0] == 'help' and len(argv) > 1 else argv
        try:
            self.command_manager.find_command(words)
        except ValueError:
            if words is argv or not self._is_group(words):
                print(f'{self.NAME}: {self._unknown_command(words)}', file=self.stderr)
                return INVALID
        status: int = super().run_subcommand(argv)
        return status

    @override
    def run(self, argv: list[str]) -> int:
        status: int = super().run(argv or ['help'])
        return status

    def _is_group(self, words: list[str]) -> bool:
        return any(name.startswith(f'{" ".join(words)} ') for name, _ in self.command_manager)

    def _unknown_command(self, argv: list[str]) -> str:
        names = [name for name, _ in sorted(self.command_manager)]
        words = argv[: 2 if self._is_group(argv[:1]) else 1]
        typed = shortened(' '.join(words))
        beginning = (name for name in names if name.startswith(typed))
        near = next(beginning, None) or nearest(typed, names)
        meant = f' (did you mean "{near}"?)' if near else ''
        text = f'Unknown command "{escaped(typed)}"{meant}'
        return f'{text}; run "{self.NAME} --help" for the list of commands'


def _is_not_printed(record: logging.LogRecord) -> bool:
    is_printed = record.name in PRINTED and record.levelno == logging.WARNING
    return not is_printed and not record.name.startswith(CLIENT)


def main() -> int:
    """Run the program; read UTF-8, and escape output that the locale cannot encode."""
    codecs.register_error(JSON_ESCAPES, _escape)
    if sys.stdout is None:  # the caller has closed it, as `>&-` of a shell does
        null = os.open(os.devnull, os.O_WRONLY)
        sys.stdout = open(null, 'w', encoding='utf-8', closefd=False)  # noqa: SIM115
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding='utf-8', errors='strict')
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=JSON_ESCAPES)
    return PlacementPolicy().run(sys.argv[1:])


def _escape(exc: UnicodeError) -> tuple[str, int]:
    """Return JSON escapes; those of `backslashreplace` would make JSON output invalid."""
    if not isinstance(exc, UnicodeEncodeError):
        raise exc
    return json.dumps(exc.object[exc.start : exc.end])[1:-1], exc.end
