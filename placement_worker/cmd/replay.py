"""The command `placement-policy replay`."""

import argparse
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker.cmd import decision_logs, output
from placement_worker.cmd.base import INVALID, OK, LocalCommand
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.decision_logs import SkippedLines
from placement_worker.decisions import replay
from placement_worker.decisions.records import Entry
from placement_worker.formats.text import counted, escaped, shortened
from placement_worker.policies.registry import Registry

DIFFERENT = 1
MAX_VALUE_LENGTH = 100  # characters


class Replay(LocalCommand):
    """The command `replay`."""

    examples = (
        'placement-policy replay /var/log/placement-worker/decisions.jsonl',
        'placement-policy replay decisions.jsonl.2.gz decisions.jsonl.1 decisions.jsonl    '
        '# rotated files',
        'placement-policy replay -f jsonl decisions.jsonl    # one line of JSON per difference',
        'placement-policy replay --request req-24f4a58e decisions.jsonl > request.yaml',
    )
    epilog = (
        'The option [decision_log] file of the worker names the log. Exit status: 0 all decisions '
        'are the same, 1 some decision differs or no request has the id, 2 a log cannot be read '
        'or has invalid lines.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'logs', metavar='LOG', nargs='+', help='decision logs; compressed ones end in .gz'
        )
        parser.add_argument(
            '--request',
            metavar='ID',
            help='print the requests with this id as YAML for check and rebalance, without a '
            'replay; checks become dry runs',
        )
        output.add_format_argument(parser, ('table', 'jsonl'))

    @override
    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.request:
            return self._print_requests(parsed_args.logs, parsed_args.request)
        registry = Registry.installed()
        skipped, replayed, different = SkippedLines(self), 0, 0
        for path in parsed_args.logs:
            for number, entry in replay.entries(path):
                if not isinstance(entry, Entry):
                    skipped.skip(path, number, str(entry))
                    continue
                found = replay.differences(entry, registry)
                replayed, different = replayed + 1, different + bool(found)
                if found:
                    self._show(f'{path}, line {number}', entry, found, parsed_args.format)
        skipped.summarize()
        if parsed_args.format == 'table':
            self.write(self._summary(replayed, different))
        return INVALID if skipped.number else DIFFERENT if different else OK

    def _print_requests(self, logs: Sequence[str], request_id: str) -> int:
        status, printed = OK, 0
        text = msgspec.json.encode(request_id)
        for path in logs:
            for number, entry in replay.entries(path, (text,)):
                if not isinstance(entry, Entry):
                    status = self.write_error(f'{path}, line {number}: {entry}; skipped the line')
                elif entry.request_id == request_id:
                    printed += 1
                    self.write(escaped(f'# {path}, line {number}: {_subject(entry)}'))
                    self.write(output.document(_repeatable(entry), 'yaml'))
        if status == INVALID or printed:
            return status
        self.write_error(f'No request {request_id} in the logs; {decision_logs.NOT_FOUND}')
        return DIFFERENT

    def _show(self, where: str, entry: Entry, found: list[replay.Difference], form: str) -> None:
        if form == 'jsonl':
            about: dict[str, Any] = {
                'line': where,
                'request_id': entry.request_id,
                'version': entry.version,
                **({'packages': entry.packages} if entry.packages else {}),
            }
            for one in found:
                self.write(
                    escaped(msgspec.json.encode({**about, **msgspec.to_builtins(one)}).decode())
                )
            return
        paint = Paint.of(self.app.stdout)
        self.write(paint(f'{where}: {_subject(entry)}', 'bold'))
        for one in found:
            self.write(escaped(f'  {one.at}'))
            self.write(paint(f'    - {_shown(one.was)}', 'red'))
            self.write(paint(f'    + {_shown(one.now)}', 'green'))

    def _summary(self, replayed: int, different: int) -> str:
        paint = Paint.of(self.app.stdout)
        version = metadata.version('placement-worker')
        subject = f'{counted(replayed, "decision")} replayed with {version}: '
        if different:
            found = counted(different, 'different reply', 'different replies')
            return subject + paint(found, 'red')
        return subject + (paint('all the same', 'green') if replayed else 'nothing to compare')


def _subject(entry: Entry) -> str:
    """Return the request of an entry, with the time and the versions of its decision."""
    action: Any = msgspec.json.decode(entry.request).get('action')
    what = action.get('action') if isinstance(action, dict) else entry.method
    asked = f'request {entry.request_id}, ' if entry.request_id else ''
    versions = ', '.join([entry.version, *entry.packages])
    return f'{what}, {asked}decided {entry.at.isoformat(timespec="seconds")} by {versions}'


def _repeatable(entry: Entry) -> dict[str, Any]:
    """Return the request of an entry without its expiry; a check becomes a dry run."""
    request: dict[str, Any] = msgspec.json.decode(entry.request)
    request.pop('expires_at', None)
    return {**request, 'dry_run': True} if entry.method == 'policy_check' else request


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return shortened(text, MAX_VALUE_LENGTH)
