"""placement-policy check."""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import hints, output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR, Command
from placement_worker.cmd.colors import Paint
from placement_worker.cmd.request_files import request_of
from placement_worker.contract import known_inputs, strict_json, unknown_keys
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.formats import documents
from placement_worker.formats.escaping import escaped
from placement_worker.handlers.in_process import InProcessCaller

SHOWN = 80  # characters of an unknown key


class Check(Command):
    """Decide policy checks, and show each policy's decision."""

    examples = (
        'placement-policy check examples/scale-out.yaml',
        'placement-policy check --explain full --cloud cloud.yaml request.yaml    # victims with their reasons',
        'placement-policy check --transport rabbit://user:password@host/ -f json request.yaml',
        'placement-policy check --lines - < requests.jsonl > replies.jsonl',
    )
    epilog = 'Exit status: 0 all are OK, 1 some check ended in ERROR, 2 a request was invalid or no worker answered.'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Of this command."""
        parser.add_argument(
            'files', metavar='FILE', nargs='+', help='requests, YAML or JSON; - for standard input'
        )
        parser.add_argument(
            '--lines', action='store_true', help='JSON lines in, one compact JSON reply a line out'
        )
        parser.add_argument(
            '-f', '--format', choices=output.FORMATS, default='table', help='default: table'
        )
        parser.add_argument(
            '--explain', choices=['none', 'summary', 'full'], help="instead of the request's own"
        )

    def run_with(self, caller: Caller, args: argparse.Namespace) -> int:
        """Answer every request; the exit status tells the worst outcome."""
        run = self._check_lines if args.lines else self._check_documents
        return max(run(caller, args), default=OK)

    def _check_documents(self, caller: Caller, args: argparse.Namespace) -> Iterator[int]:
        """Show the replies to all documents of all files; an invalid one does not stop the
        others.
        """
        for path in args.files:
            for number, document in enumerate(documents.read(path), start=1):
                try:
                    request = decoded(caller, document, args.explain)
                    reply = caller.policy_check(request)
                except errors.Refused as exc:
                    yield self.complain(f'{path}, document {number}: {hints.told(exc)}')
                else:
                    self.say(output.reply(reply, request, args.format, Paint.of(self.app.stdout)))
                    if args.format == 'table':
                        self.mention_cloud(args, path)
                    yield _status(reply)

    def _check_lines(self, caller: Caller, args: argparse.Namespace) -> Iterator[int]:
        """Print one JSON reply a line, in order; a bad line gives an error object, and the rest
        goes on.
        """
        for path in args.files:
            with open(
                sys.stdin.fileno() if path == '-' else path, 'rb', closefd=path != '-'
            ) as lines:
                for number, line in enumerate(filter(None, map(bytes.strip, lines))):
                    if not number and line[:1] not in b'{[':
                        self.complain(
                            f'{path} does not begin with a JSON object, as lines do; without --lines YAML is read'
                        )
                    status, answer = _check_line(caller, line, args.explain)
                    self.say(escaped(msgspec.json.encode(answer).decode()))
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
    """A line `{"request": CheckRequest, "cloud": {...}}`: who answers over that cloud, and the
    request.

    :raises InvalidRequest: running workers answer, or the line says more.
    """
    unknown = sorted(document.keys() - {'request', 'cloud'})
    if unknown:
        listed = ', '.join(f'`{key[:SHOWN]}`' for key in unknown[: unknown_keys.LISTED])
        raise errors.InvalidRequest(f'Expected only `request` and `cloud`, got {listed}')
    if not isinstance(caller, InProcessCaller):
        raise errors.InvalidRequest(
            'Expected a CheckRequest alone: running workers have a cloud of their own'
        )
    cloud = Inventory.parse(document.get('cloud', {}), 'cloud')
    return caller.over(cloud), document['request']


def decoded(caller: Caller, document: object, explain: str | None) -> CheckRequest:
    """One request of a file, with how it is to be explained.

    :param caller: is asked which inputs its policy types read if Senlin does not know one.
    :raises InvalidRequest: it does not fit the contract, or has unknown inputs.
    """
    if isinstance(document, dict) and explain:
        document = {**document, 'explain': explain}
    request = request_of(document, CheckRequest)
    if known_inputs.unknown(request.action):
        declared = {key for one in caller.policy_type_list() for key in one.inputs}
        unknown = known_inputs.unknown(request.action, declared)
        if unknown:
            raise errors.InvalidRequest(known_inputs.describe(request.action, unknown))
    return request


def _status(reply: CheckReply) -> int:
    return OK if reply.action.data['status'] == 'OK' else SOME_ERROR
