"""The command `placement-policy check`."""

import argparse
import sys
from collections.abc import Iterator

from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd import check_lines, output
from placement_worker.cmd.base import OK, SOME_ERROR, Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.request_files import check_request_of
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.contract.schema_errors import SchemaError
from placement_worker.formats import documents, paths
from placement_worker.formats.documents import Document
from placement_worker.formats.text import escaped

READ_BYTES = 2**24
"""The size of the buffer for lines; the default of 8 KiB needs twice the time for long lines."""


class Check(Command):
    """The command `check`."""

    examples = (
        'placement-policy check examples/scale-out.yaml',
        'placement-policy check --explain full --cloud cloud.yaml request.yaml    '
        '# victims with their reasons',
        'placement-policy check --transport rabbit://user:password@host/ -f json request.yaml',
        'placement-policy check --lines - < requests.jsonl > replies.jsonl',
    )
    epilog = (
        'Exit status: 0 all checks are OK, 1 some check ended in ERROR, 2 a request was invalid '
        'or no worker replied.'
    )

    @override
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'files', metavar='FILE', nargs='+', help='requests, YAML or JSON; - for standard input'
        )
        parser.add_argument(
            '--lines',
            action='store_true',
            help='read JSON lines, and write one compact JSON reply per line; duplicate keys are '
            'found in lines of up to 64 KiB',
        )
        output.add_format_argument(parser)
        parser.add_argument(
            '--explain',
            choices=['none', 'summary', 'full'],
            help='level of detail; default: that of the request',
        )

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        if args.lines and args.format == 'yaml':
            return self.write_error('--lines prints replies as JSON; omit --lines or -f yaml')
        run = self._check_lines if args.lines else self._check_documents
        return max(run(caller, args), default=OK)

    def _check_documents(self, caller: Caller, args: argparse.Namespace) -> Iterator[int]:
        """Show the replies to all documents of all files, and yield the exit status of each."""
        for path in args.files:
            for document in documents.read(path):
                try:
                    request = check_request_of(caller, document.data, args.explain)
                    self.note_misspellings(request, document)
                    reply = caller.policy_check(request)
                except errors.Refused as exc:
                    yield self.write_refusal(exc, document, CheckRequest)
                else:
                    paint = Paint.of(self.app.stdout)
                    self.write(output.check_reply(reply, request, args.format, paint))
                    if args.format == 'table':
                        self.note_shipped_cloud(args, path)
                    self._note_place(reply, document)
                    yield _status(reply)

    def _note_place(self, reply: CheckReply, document: Document) -> None:
        """Show the line of the input that the reason of a failed check names, if it names one."""
        reason = str(reply.action.data['reason'])
        path = paths.named_in(reason)
        if path and path[:2] == ('action', 'inputs'):
            self.write_invalid(document.invalid([SchemaError(path, reason)]), document)

    def _check_lines(self, caller: Caller, args: argparse.Namespace) -> Iterator[int]:
        """Print one JSON reply or error object per line, and yield the exit status of each."""
        for path in args.files:
            name = documents.STANDARD_INPUT if path == '-' else path
            for index, (number, text) in enumerate(_lines(path)):
                if not index and text.lstrip()[:1] not in b'{[':
                    self.write_error(
                        f'{name}: the first line is not a JSON object; for YAML, omit --lines'
                    )
                line = check_lines.Line(text, name, number)
                status, answer = check_lines.check(caller, line, args.explain)
                self.write(escaped(answer))
                yield status


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without blank lines."""
    file = sys.stdin.fileno() if path == '-' else path
    with open(file, 'rb', READ_BYTES, closefd=path != '-') as lines:
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                yield number, line


def _status(reply: CheckReply) -> int:
    return OK if reply.action.data['status'] == 'OK' else SOME_ERROR
