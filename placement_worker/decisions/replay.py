"""The replay of decision logs: recorded requests are decided again, and the replies compared.

No time passes and no cloud is called: a decision that reads more than it read then has changed,
and is reported instead of being decided on something else.
"""

import math
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import msgspec
from msgspec import structs

from placement_worker import errors
from placement_worker.cloud.intercepted.recording import NotRecorded, replayed_clouds
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract.model import in_utc
from placement_worker.contract.rpc import Limits
from placement_worker.decisions.masking import masked
from placement_worker.decisions.records import Entry
from placement_worker.handlers.decision_state import Conditions
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry

_ABSENT = '(nothing)'
_ANY_SIZE = 2**62  # bytes; the worker has accepted the request before


class Difference(msgspec.Struct, frozen=True):
    at: str
    was: Any
    now: Any


def differences(entry: Entry, registry: Registry) -> list[Difference]:
    """Decide an entry again over its recorded responses and clocks; return [] for equal replies.

    Measured times (`elapsed_ms`) are ignored; any other byte counts.
    """
    try:
        reply = _decided_again(entry, bytes(entry.request), registry)
    except errors.PlacementWorkerError as exc:
        return [Difference('$', entry.reply, errors.error_object(exc))]
    except msgspec.ValidationError as exc:  # masking replaced a value of a response
        incomplete = NotRecorded(f'The recorded response is incomplete: {exc}')
        return [Difference('$', entry.reply, errors.error_object(incomplete))]
    # The worker that recorded the decision may have masked less.
    was, now = (
        msgspec.json.decode(masked(encoded))
        for encoded in (msgspec.json.encode(entry.reply), reply)
    )
    for decision in (*was.get('decisions', ()), *now.get('decisions', ())):
        decision['elapsed_ms'] = 0
    if 'warnings' not in was:  # the version that recorded the decision gave none
        now.pop('warnings', None)
    if msgspec.json.encode(was) == msgspec.json.encode(now):
        return []
    return list(_compared(was, now, '$')) or [Difference('$ (the same in another order)', was, now)]


def explained(entry: Entry, registry: Registry) -> dict[str, Any]:
    """Return the reply to a check that is decided again with `explain: full`.

    If that is not possible, e.g. because a policy is not installed any more, return the recorded
    reply.
    """
    request = msgspec.json.decode(entry.request)
    try:
        reply = _decided_again(entry, msgspec.json.encode({**request, 'explain': 'full'}), registry)
    except (errors.PlacementWorkerError, msgspec.ValidationError):
        return entry.reply
    decided: dict[str, Any] = msgspec.json.decode(reply)
    return decided


def _decided_again(entry: Entry, request: bytes, registry: Registry) -> bytes:
    """Return the present reply as JSON.

    :raises PlacementWorkerError: the request is refused now.
    :raises ValidationError: a recorded response is incomplete.
    """
    clouds, limits = replayed_clouds(entry.cloud), Limits(request_bytes=_ANY_SIZE)
    settings = WorkerSettings(
        recorder=lambda _method, _request, _request_id, conditions, decide: decide(
            _recorded(conditions, entry, clouds)
        ),
        limits=lambda: limits,
    )
    endpoints = Endpoints(clouds, registry, settings)
    decide = getattr(endpoints, entry.method)
    return bytes(decide(request.decode(), entry.request_id).encode())


def _compared(was: Any, now: Any, at: str) -> Iterator[Difference]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(key for key in now if key not in was)]:
            yield from _compared(was.get(key, _ABSENT), now.get(key, _ABSENT), f'{at}.{key}')
    elif isinstance(was, list) and isinstance(now, list):
        for i, items in enumerate(zip_longest(was, now, fillvalue=_ABSENT)):
            yield from _compared(*items, f'{at}[{i}]')
    elif was != now or type(was) is not type(now):
        yield Difference(at, was, now)


def _recorded(conditions: Conditions, entry: Entry, clouds: Clouds) -> Conditions:
    is_endless = conditions.left_s() == math.inf
    return structs.replace(
        conditions,
        clouds=clouds,
        max_nodes=entry.max_nodes,
        now=in_utc(entry.at),
        octavia_settings=OctaviaSettings(
            **entry.octavia_settings, sleep=lambda _: None, clock=_readings('clock', entry.clock)
        ),
        left_s=conditions.left_s if is_endless else _readings('remaining time', entry.left_s),
        cordons=entry.cordons,
    )


def _readings(subject: str, recorded: list[float]) -> Callable[[], float]:
    remaining = iter(recorded)

    def read() -> float:
        for value in remaining:
            return value
        raise NotRecorded(f'The {subject} is read more often than in the recorded decision')

    return read
