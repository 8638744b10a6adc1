"""placement-policy: the contract on the command line, for people and scripts."""

import codecs
import io
import json
import logging
import sys
from importlib import metadata

from cliff import app, help  # noqa: A004  # cliff's name for it

from placement_worker.cmd import command_manager
from placement_worker.formats.escaping import escaped
from placement_worker.worker import log_lines

NAMESPACE = 'placement_worker.cli'
INVALID = 2
MEANT = 3  # commands that an unknown one may have meant
SHOWN = 80  # characters of it
JSON_ESCAPES = 'json-escapes'
"""The error handler for characters that an encoding lacks."""


class PlacementPolicy(app.App):
    """The program; its commands are entry points."""

    NAME = 'placement-policy'
    DEFAULT_VERBOSE_LEVEL = 0  # warnings; -v for more

    def __init__(self) -> None:
        super().__init__(
            description='Decide where the nodes of a cluster go, here or by running workers.',
            version=metadata.version('placement-worker'),
            command_manager=command_manager.Commands(NAMESPACE),
            deferred_help=True,
        )
        self.command_manager.add_command('help', command_manager.Help)

    def configure_logging(self) -> None:
        """As cliff does; what stevedore cannot load comes back to us as an error, so it need not
        say it as well.
        """
        others = list(logging.getLogger().handlers)
        super().configure_logging()
        for handler in logging.getLogger().handlers:
            if handler not in others:
                handler.addFilter(_is_news)
        log_lines.guard()
        if not self.options.debug:
            logging.getLogger('stevedore').setLevel(logging.CRITICAL)
            logging.getLogger('amqp').setLevel(
                logging.ERROR
            )  # warns of what comes late on a channel that it closes

    def print_help_if_requested(self) -> None:
        """As cliff does; its own way imports all commands, and looks through all distributions for
        theirs.
        """
        if self.options.deferred_help:
            command_manager.print_overview(self)
            raise help.HelpExit

    def run_subcommand(self, argv: list[str]) -> int:
        """As cliff does; its own way tells of a command that there is not in several lines, and on
        the output.
        """
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            near = ' or '.join(self.get_fuzzy_matches(argv[0])[:MEANT])
            meant = f'; did you mean {near}?' if near and not argv[0].startswith('-') else ';'
            told = f'{self.NAME}: {escaped(" ".join(argv)[:SHOWN])} is no command{meant}'
            print(f'{told} {self.NAME} --help shows those that are', file=self.stderr)
            return INVALID
        status: int = super().run_subcommand(argv)
        return status

    def run(self, argv: list[str]) -> int:
        """Run one command; without any, show which there are."""
        status: int = super().run(argv or ['help'])
        return status


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether to log a record: commands print the warnings of replies themselves."""
    return (record.name, record.levelno) != ('placement_worker.handlers.request_log', logging.WARNING)


def main() -> int:
    """Run the command that the arguments name; the exit status is the command's."""
    _suit_any_locale()
    return PlacementPolicy().run(sys.argv[1:])


def _suit_any_locale() -> None:
    """Read standard input as UTF-8, and escape characters that the encoding of the standard output
    lacks.
    """
    codecs.register_error(JSON_ESCAPES, _escape)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding='utf-8', errors='strict')
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=JSON_ESCAPES)


def _escape(exc: UnicodeError) -> tuple[str, int]:
    """Return JSON escapes: the escapes of `backslashreplace` would make invalid JSON."""
    if not isinstance(exc, UnicodeEncodeError):
        raise exc
    return json.dumps(exc.object[exc.start : exc.end])[1:-1], exc.end
