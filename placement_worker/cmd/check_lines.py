"""Reply to JSON lines, for `placement-policy check --lines`."""

from typing import Any, NamedTuple

import msgspec

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.base import INVALID, OK, SOME_ERROR
from placement_worker.cmd.request_files import check_request_of
from placement_worker.contract import codec, known_inputs, strict_json, strict_types
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import Action, CheckRequest
from placement_worker.formats.text import listed, shortened
from placement_worker.handlers.in_process import InProcessCaller


class _Data(msgspec.Struct):
    status: str


class _Action(msgspec.Struct):
    data: _Data


class _Reply(msgspec.Struct):
    """The part of a reply that the exit status needs."""

    action: _Action


class Answer(NamedTuple):
    """The exit status for a line, and the reply or the error as JSON."""

    status: int
    text: str


def check(caller: Caller, line: bytes, explain: str | None) -> Answer:
    """Decide the request of a line.

    :param explain: the level of detail; None for that of the request.
    """
    try:
        return _reply(_decide(caller, line, explain))
    except errors.PlacementWorkerError as exc:
        return Answer(INVALID, msgspec.json.encode(errors.error_object(exc)).decode())


def _reply(text: str) -> Answer:
    status = codec.decoder(_Reply).decode(text).action.data.status
    return Answer(OK if status == 'OK' else SOME_ERROR, text)


def _decide(caller: Caller, line: bytes, explain: str | None) -> str:
    if isinstance(caller, InProcessCaller):
        request = _valid_request(line, explain)
        if request is not None:
            return caller.policy_check_json(request)
    document = strict_json.decode_plain(line)
    if isinstance(document, dict) and 'request' in document:
        caller, document = _with_cloud(caller, document)
    reply = caller.policy_check(check_request_of(caller, document, explain))
    return msgspec.json.encode(reply).decode()


def _valid_request(line: bytes, explain: str | None) -> str | None:
    """Return the line as a request in JSON, or None if the line may have an error.

    This takes a third of the time of a check. The words of an error take several times as long,
    because Python visits every key for them.
    """
    request: Any = strict_types.decode(line, CheckRequest)
    if request is None:
        return None
    action = request.action
    if known_inputs.unknown(Action(action.id, action.action, inputs=action.inputs or {})):
        return None
    if explain:
        request.explain = explain
        line = msgspec.json.encode(request)
    return line.decode()


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
