"""Reply to JSON lines, for `placement-policy check --lines`."""

from typing import Any, NamedTuple

import msgspec

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import file_errors, request_files
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR
from placement_worker.contract import strict_json, unknown_keys
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.contract.rpc import Limits
from placement_worker.contract.strict_types import strict
from placement_worker.formats.documents import MAX_PROBLEMS
from placement_worker.formats.text import listed, shortened
from placement_worker.handlers.in_process import InProcessCaller


class Line(NamedTuple):
    """A line with the name of its file and its number, which begins at 1."""

    text: bytes
    file: str
    number: int


class Answer(NamedTuple):
    """The exit status for a line, and the reply or the error as JSON."""

    status: int
    text: str


def check(caller: Caller, line: Line, explain: str | None) -> Answer:
    """Decide the request of a line.

    :param explain: the level of detail; None for that of the request.
    """
    try:
        caller, request = _read(caller, line.text)
    except errors.PlacementWorkerError as exc:
        return _failed(exc, line, [])
    try:
        reply = _decide(caller, request, explain)
    except errors.Refused as exc:
        data = msgspec.to_builtins(request)
        found = [one.text for one in file_errors.in_data(exc, data, CheckRequest)]
        return _failed(exc, line, found)
    except errors.PlacementWorkerError as exc:
        return _failed(exc, line, [])
    status = OK if reply.action.data['status'] == 'OK' else SOME_ERROR
    return Answer(status, msgspec.json.encode(reply).decode())


def _failed(exc: errors.PlacementWorkerError, line: Line, found: list[str]) -> Answer:
    """Return the error of a line with its place; several errors are listed as well."""
    where = {'file': line.file, 'line': line.number}
    error: dict[str, Any] = {**errors.error_object(exc)['error'], **where}
    if len(found) > 1:
        error.update(errors=found[:MAX_PROBLEMS], more=len(found[MAX_PROBLEMS:]))
    return Answer(INVALID, msgspec.json.encode({'error': error}).decode())


def _read(caller: Caller, line: bytes) -> tuple[Caller, Any]:
    """Return the caller and the request of a line.

    The request is an object, or plain data if it may have an error. Plain data are checked again
    to describe the error, which takes several times as long as a check of the object.
    """
    try:
        kind, limit = strict(CheckRequest), Limits().request_bytes
        request = strict_json.decode(line, kind, max_bytes=limit)
        nodes = [*request.cluster.nodes, *filter(None, [request.action.node])]
        if not any(map(unknown_keys.is_misspelled, set().union(*(node.data for node in nodes)))):
            return caller, request
    except errors.InvalidRequest:
        pass
    document = strict_json.decode_plain(line)
    if isinstance(document, dict) and 'request' in document:
        return _with_cloud(caller, document)
    return caller, document


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


def _decide(caller: Caller, request: Any, explain: str | None) -> CheckReply:
    if not isinstance(request, CheckRequest):
        request = request_files.check_request_of(caller, request, explain)
        return caller.policy_check(request)
    request = request_files.completed(caller, request, explain)
    if isinstance(caller, InProcessCaller):
        return caller.policy_check_decoded(request)
    return caller.policy_check(request)
