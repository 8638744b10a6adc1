"""The commands `placement-policy check`, `attach` and `detach`.

`check --lines` is for many requests: it replies to JSON lines in this process without a second
decoding, and an invalid line is an error object in the output, so that replies and lines match.
"""

import contextlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import file_errors, output
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR
from placement_worker.cmd.output import Paint
from placement_worker.cmd.request_files import (
    FilesCommand,
    check_request_of,
    completed,
    decided,
    request_of,
)
from placement_worker.contract import codec
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.contract.rpc import Limits
from placement_worker.formats import documents
from placement_worker.formats.documents import MAX_PROBLEMS, Document
from placement_worker.formats.text import counted, escaped, listed, shortened
from placement_worker.handlers.in_process import InProcessCaller

# The search for duplicate keys takes as long as decoding; in a longer line the last value counts.
_UNIQUE_KEYS_BYTES = 64 * 2**10


class Check(FilesCommand):
    request_type = CheckRequest
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
    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            '--lines',
            action='store_true',
            help='read JSON lines, and write one compact JSON reply per line; duplicate keys are '
            'found in lines of up to 64 KiB',
        )
        parser.add_argument(
            '--explain',
            choices=['none', 'summary', 'full'],
            help='no details, the numbers of each place, or also every victim with its reason; '
            'default: that of the request',
        )

    @override
    def run_with(self, caller: Caller, args: Namespace) -> int:
        if not args.lines:
            return super().run_with(caller, args)
        if args.format == 'yaml':
            return self.write_error('--lines prints replies as JSON; omit --lines or -f yaml')
        return max(self._check_lines(caller, args), default=OK)

    @override
    def handle(self, caller: Caller, document: Document, args: Namespace) -> int:
        request = check_request_of(caller, document.data, args.explain)
        reply = decided(caller.policy_check(request))
        self.write_result(args.format, reply, output.check_lines(reply, request, self.paint))
        self.note_shipped_cloud(args, document)
        return _status(reply)

    def _check_lines(self, caller: Caller, args: Namespace) -> Iterator[int]:
        for path in args.files:
            name = documents.STANDARD_INPUT if path == '-' else path
            for index, (number, line) in enumerate(_lines(path)):
                if not index and line.lstrip()[:1] not in b'{[':
                    problem = 'the first line is not a JSON object; for YAML, omit --lines'
                    self.write_error(f'{name}: {problem}')
                where = {'file': name, 'line': number}
                status, reply = _check_line(caller, line, where, args.explain)
                self.write(escaped(reply))
                yield status


class _Bind(FilesCommand):
    request_type = BindRequest
    epilog = (
        'Exit status: 0 all requests are OK, 1 some request ended in ERROR, 2 a request was '
        'invalid or no worker replied.'
    )

    @override
    def handle(self, caller: Caller, document: Document, args: Namespace) -> int:
        request = request_of(document.data, BindRequest)
        bind = caller.policy_attach if isinstance(self, Attach) else caller.policy_detach
        reply = bind(request)
        self.write_result(args.format, reply, _bind_lines(reply, request, self.paint))
        return OK if reply.status == 'OK' else SOME_ERROR


class Attach(_Bind):
    examples = (
        'placement-policy attach request.yaml    # on an embedded cloud, to try it out',
        'placement-policy attach --config-file /etc/placement-worker/operator.conf request.yaml',
    )


class Detach(_Bind):
    checks_specs = False
    examples = (
        'placement-policy detach --config-file /etc/placement-worker/operator.conf request.yaml',
        'placement-policy detach --timeout 600 --transport rabbit://user:password@host/ '
        'request.yaml',
    )


def _bind_lines(reply: BindReply, request: BindRequest, paint: Paint) -> Iterator[str]:
    policy = request.policy
    name = f'{policy.name or policy.id} ({policy.spec.type_name})'
    title = f'{name}, {output.cluster_words(request.cluster)}: '
    yield from output.warnings(reply.warnings, paint)
    yield escaped(title) + output.styled_status(reply.status, paint)
    yield escaped(reply.reason)
    for stored in reply.policy.data.values() if reply.status == 'OK' else ():
        data = stored.get('data') if isinstance(stored, dict) else None
        if isinstance(data, dict):
            yield from (escaped(f'{output.INDENT}{key}: {value}') for key, value in data.items())
    if reply.nodes:
        yield f'{output.INDENT}changed data of {counted(len(reply.nodes), "node")}'
    yield ''


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    file = sys.stdin.fileno() if path == '-' else path
    with open(file, 'rb', closefd=path != '-') as lines:
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                yield number, line


def _check_line(
    caller: Caller, line: bytes, where: Mapping[str, Any], explain: str | None
) -> tuple[int, str]:
    """Return the exit status and a reply, or an error object with the place of the line."""
    problems: list[str] = []
    try:
        caller, request = _read(caller, line)
        try:
            reply = _decide(caller, request, explain)
        except errors.Refused as exc:
            # Plain data is used as it is: a copy of a large line takes as long as its decision.
            data = msgspec.to_builtins(request) if isinstance(request, CheckRequest) else request
            wrong = file_errors.errors_in_data(exc, data, CheckRequest)
            problems = [error.text for error in wrong]
            raise
    except errors.PlacementWorkerError as exc:
        error: dict[str, Any] = {**errors.error_object(exc)['error'], **where}
        if len(problems) > 1:
            error.update(errors=problems[:MAX_PROBLEMS], more=len(problems[MAX_PROBLEMS:]))
        return INVALID, msgspec.json.encode({'error': error}).decode()
    return _status(reply), msgspec.json.encode(reply).decode()


def _read(caller: Caller, line: bytes) -> tuple[Caller, Any]:
    key = None
    if len(line) <= _UNIQUE_KEYS_BYTES:
        with contextlib.suppress(ValueError, RecursionError):  # decoding names such a mistake
            key = documents.duplicate_key(line)
    if key is not None:
        raise errors.InvalidRequest(f'Expected each key once, got `{shortened(key)}` twice')
    with contextlib.suppress(errors.InvalidRequest):
        limit = Limits().request_bytes
        return caller, codec.decode_encoded(line, codec.strict(CheckRequest), limit)
    anything: Any = Any
    document = codec.decode_encoded(line, anything)
    if isinstance(document, dict) and 'request' in document:
        return _with_cloud(caller, document)
    return caller, document


def _with_cloud(caller: Caller, document: dict[str, Any]) -> tuple[Caller, Any]:
    """Read a line `{"request": CheckRequest, "cloud": {...}}`."""
    unknown = sorted(document.keys() - {'request', 'cloud'})
    if unknown:
        names = listed(unknown, lambda key: f'`{shortened(key)}`')
        raise errors.InvalidRequest(f'Expected only `request` and `cloud`, got {names}')
    if not isinstance(caller, InProcessCaller):
        raise errors.InvalidRequest(
            'Expected a CheckRequest without `cloud`: a running worker has its own cloud'
        )
    cloud = Inventory.parse(document.get('cloud', {}), 'cloud')
    return caller.over(cloud), document['request']


def _decide(caller: Caller, request: Any, explain: str | None) -> CheckReply:
    if not isinstance(request, CheckRequest):
        # Unlike `policy_check_decoded`, this refuses a request that is too large.
        return decided(caller.policy_check(check_request_of(caller, request, explain)))
    request = completed(caller, request, explain)
    if isinstance(caller, InProcessCaller):
        return decided(caller.policy_check_decoded(request))
    return decided(caller.policy_check(request))


def _status(reply: CheckReply) -> int:
    return OK if reply.action.data['status'] == 'OK' else SOME_ERROR
