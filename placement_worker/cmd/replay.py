"""placement-policy replay."""

import argparse
from importlib import metadata
from typing import Any

import msgspec

from placement_worker.cmd.base import INVALID, OK, LocalCommand
from placement_worker.cmd.colors import Paint
from placement_worker.decisions import replay
from placement_worker.decisions.records import Entry
from placement_worker.formats.escaping import escaped
from placement_worker.policies.registry import Registry

DIFFERENT = 1
SHOWN = 100  # characters of a value
NAMED = 5  # lines that are none


class Replay(LocalCommand):
    """Decide again what a decision log holds, and show every difference."""

    examples = (
        'placement-policy replay /var/log/placement-worker/decisions.jsonl',
        'placement-policy replay decisions.jsonl.2.gz decisions.jsonl.1 decisions.jsonl    # as logrotate left them',
        'placement-policy replay -f jsonl decisions.jsonl    # a line of JSON a difference',
    )
    epilog = (
        'The log is what [decision_log] file of the worker names. Exit status: 0 all decisions are the same, 1 some '
        'differ, 2 a log cannot be read or has lines that are none.'
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            'logs', metavar='LOG', nargs='+', help='decision logs; compressed ones end in .gz'
        )
        parser.add_argument(
            '-f', '--format', choices=('table', 'jsonl'), default='table', help='default: table'
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Decide all of them; a line that is none does not stop the others."""
        registry = Registry.installed()
        status, replayed, different, left_out = OK, 0, 0, 0
        for path in parsed_args.logs:
            for number, entry in replay.entries(path):
                if not isinstance(entry, Entry):
                    status, left_out = INVALID, left_out + 1
                    if left_out <= NAMED:
                        self.complain(
                            f'{path}, line {number}: {str(entry).rstrip()}; it is left out'
                        )
                    continue
                found = replay.differences(entry, registry)
                replayed, different = replayed + 1, different + bool(found)
                if found:
                    self._show(f'{path}, line {number}', entry, found, parsed_args.format)
        if left_out > NAMED:
            self.complain(
                f'{_more(left_out - NAMED)} left out, too: see that the file is a decision log'
            )
        if parsed_args.format == 'table':
            self.say(self._summary(replayed, different))
        return INVALID if status == INVALID else DIFFERENT if different else OK

    def _show(self, where: str, entry: Entry, found: list[replay.Difference], form: str) -> None:
        if form == 'jsonl':
            about = {'line': where, 'request_id': entry.request_id, 'version': entry.version}
            for one in found:
                self.say(
                    escaped(msgspec.json.encode({**about, **msgspec.to_builtins(one)}).decode())
                )
            return
        paint = Paint.of(self.app.stdout)
        self.say(paint(f'{where}: {_subject(entry)}', 'bold'))
        for one in found:
            self.say(escaped(f'  {one.at}'))
            self.say(paint(f'    - {_shown(one.was)}', 'red'))
            self.say(paint(f'    + {_shown(one.now)}', 'green'))

    def _summary(self, replayed: int, different: int) -> str:
        paint = Paint.of(self.app.stdout)
        version = metadata.version('placement-worker')
        told = f'{replayed} decision{"" if replayed == 1 else "s"} replayed with {version}: '
        if different:
            return told + paint(f'{different} differ{"s" if different == 1 else ""}', 'red')
        return told + (paint('all the same', 'green') if replayed else 'nothing to compare')


def _more(lines: int) -> str:
    return 'and 1 more line is' if lines == 1 else f'and {lines} more lines are'


def _subject(entry: Entry) -> str:
    """Of which request, and who decided it when."""
    action: Any = msgspec.json.decode(entry.request).get('action')
    what = action.get('action') if isinstance(action, dict) else entry.method
    asked = f'request {entry.request_id}, ' if entry.request_id else ''
    return f'{what}, {asked}decided {entry.at.isoformat(timespec="seconds")} by {entry.version}'


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN else text[:SHOWN] + '...'
