"""The command `placement-policy check`."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.request_files import request_of
from placement_worker.contract import known_inputs, strict_json
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.formats import documents
from placement_worker.formats.text import escaped, listed, shortened
from placement_worker.handlers.in_process import InProcessCaller


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
            help='read JSON lines, and write one compact JSON reply per line',
        )
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )
        parser.add_argument(
            '--explain',
            choices=['none', 'summary', 'full'],
            help='level of detail; default: that of the request',
        )

    @override
    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        run = self._check_lines if args.lines else self._check_documents
        return max(run(caller, args), default=OK)

    def _check_documents(self, caller: Caller, args: argparse.Namespace) -> Iterator[int]:
        """Show the replies to all documents of all files, and yield the exit status of each."""
        for path in args.files:
            for document in documents.read(path):
                try:
                    request = decoded(caller, document.data, args.explain)
                    reply = caller.policy_check(request)
                except errors.Refused as exc:
                    yield self.write_refusal(exc, document, CheckRequest)
                else:
                    paint = Paint.of(self.app.stdout)
                    self.write(output.check_reply(reply, request, args.format, paint))
                    if args.format == 'table':
                        self.note_shipped_cloud(args, path)
                    yield _status(reply)

    def _check_lines(self, caller: Caller, args: argparse.Namespace) -> Iterator[int]:
        """Print one JSON reply or error object per line, and yield the exit status of each."""
        for path in args.files:
            file = sys.stdin.fileno() if path == '-' else path
            with open(file, 'rb', closefd=path != '-') as lines:
                for number, line in enumerate(filter(None, map(bytes.strip, lines))):
                    if not number and line[:1] not in b'{[':
                        self.write_error(
                            f'{path}: the first line is not a JSON object; for YAML, omit --lines'
                        )
                    status, answer = _check_line(caller, line, args.explain)
                    self.write(escaped(msgspec.json.encode(answer).decode()))
                    yield status


def _check_line(caller: Caller, line: bytes, explain: str | None) -> tuple[int, Any]:
    try:
        document = strict_json.decode_plain(line)
        if isinstance(document, dict) and 'request' in document:
            caller, document = _with_cloud(caller, document)
        reply = caller.policy_check(decoded(caller, document, explain))
    except errors.PlacementWorkerError as exc:
        return INVALID, errors.error_object(exc)
    return _status(reply), reply


def _with_cloud(caller: Caller, document: dict[str, Any]) -> tuple[Caller, Any]:
    """Return the caller and the request of a line `{"request": CheckRequest, "cloud": {...}}`.

    :raises InvalidRequest: the target is a running worker, or the line has other keys.
    """
    unknown = sorted(document.keys() - {'request', 'cloud'})
    if unknown:
        shown = listed(unknown, lambda key: f'`{shortened(key)}`')
        raise errors.InvalidRequest(f'Expected only `request` and `cloud`, got {shown}')
    if not isinstance(caller, InProcessCaller):
        raise errors.InvalidRequest(
            'Expected a CheckRequest without `cloud`: a running worker has its own cloud'
        )
    cloud = Inventory.parse(document.get('cloud', {}), 'cloud')
    return caller.over(cloud), document['request']


def decoded(caller: Caller, document: object, explain: str | None) -> CheckRequest:
    """Return one request of a file.

    :param caller: the worker whose policy types declare inputs that Senlin does not define.
    :param explain: the level of detail; None for that of the request.
    :raises InvalidRequest: the document does not fit the contract, or has unknown inputs.
    """
    if isinstance(document, dict) and explain:
        document = {**document, 'explain': explain}
    request = request_of(document, CheckRequest)
    if known_inputs.unknown(request.action):
        declared = {key for one in caller.policy_type_list() for key in one.inputs}
        unknown = known_inputs.unknown(request.action, declared)
        if unknown:
            described = known_inputs.describe(request.action, unknown)
            raise errors.InvalidRequest(f'{described} - at `$.action.inputs`')
    return request


def _status(reply: CheckReply) -> int:
    return OK if reply.action.data['status'] == 'OK' else SOME_ERROR
