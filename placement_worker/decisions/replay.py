"""Decide again what a decision log holds, and say what comes out differently."""

import datetime
import gzip
import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.replayed import NotRecorded, ReplayedCloud
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract import strict_json
from placement_worker.contract.limits import Limits
from placement_worker.decisions.masking import masked
from placement_worker.decisions.records import Entry, Method, Record
from placement_worker.formats import documents
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.ports import Reply, Request
from placement_worker.policies.registry import Registry

ABSENT = '(nothing)'
ANY_SIZE = 2**62  # bytes; the request was accepted once


class Difference(msgspec.Struct, frozen=True):
    """Where a reply is another one now: `at` is a path; `was` and `now` are plain data."""

    at: str
    was: Any
    now: Any


def entries(path: str) -> Iterator[tuple[int, Entry | errors.InvalidRequest]]:
    """The lines of a log with their numbers; a line that is none is the error that says why.

    :param path: a file, as logrotate may have compressed it (`.gz`).
    :raises OSError: it cannot be read.
    :raises Malformed: it is not compressed, or not to its end.
    """
    open_log: Callable[..., Any] = gzip.open if path.endswith('.gz') else open
    with open_log(path, 'rb') as lines:
        try:
            yield from (
                (number, _entry(line)) for number, line in enumerate(lines, start=1) if line.strip()
            )
        except (gzip.BadGzipFile, EOFError, zlib.error) as exc:
            raise documents.Malformed(f'{path} cannot be decompressed: {exc}') from exc


def _entry(line: bytes) -> Entry | errors.InvalidRequest:
    try:
        return strict_json.decode(line, Entry)
    except errors.InvalidRequest as exc:
        return exc


class _Then:
    """As `Recorder` and `Record`: the circumstances of an entry. No time passes but that which
    passed then.
    """

    def __init__(self, entry: Entry) -> None:
        self._cloud = ReplayedCloud(entry.cloud)
        self._left = iter(entry.left_s)
        self.max_nodes = entry.max_nodes
        self.octavia_settings = OctaviaSettings(
            **entry.octavia_settings,
            sleep=lambda _: None,
            clock=_readings('clock', iter(entry.clock)),
        )

    def begin(
        self, request_id: str | None, at: datetime.datetime, max_nodes: int, octavia_settings: OctaviaSettings
    ) -> Record:
        return self

    def left_s(self, ask: Callable[[], float]) -> Callable[[], float]:
        recorded = _readings('caller', self._left)
        return lambda: math.inf if ask() == math.inf else recorded()

    def watch(self, clouds: Clouds) -> Clouds:
        return self._cloud

    def end(self, method: Method, request: Request, reply: Reply) -> None:
        pass


def _readings(what: str, recorded: Iterator[float]) -> Callable[[], float]:
    """What was read then, one after the other."""

    def read() -> float:
        for value in recorded:
            return value
        raise NotRecorded(f'The {what} is looked at more often than it was then')

    return read


def differences(entry: Entry, registry: Registry) -> list[Difference]:
    """Decide it again, over the cloud's answers of then and by the clock of then; nothing is
    written anywhere.

    What was measured (`elapsed_ms`) is left out; of all the rest any byte counts.

    :returns: nothing if the replies are the same.
    """
    then = _Then(entry)
    endpoints = Endpoints(
        Inventory(), registry, recorder=then, limits=lambda: Limits(request_bytes=ANY_SIZE)
    )
    try:
        answer = getattr(endpoints, entry.method)(bytes(entry.request).decode(), entry.request_id)
    except errors.PlacementWorkerError as exc:
        return [Difference('$', entry.reply, errors.error_object(exc))]
    except msgspec.ValidationError as exc:  # an answer of the cloud, masked by a name in it
        return [
            Difference(
                '$',
                entry.reply,
                errors.error_object(NotRecorded(f'An answer was not kept whole: {exc}')),
            )
        ]
    # Both, for the log may be of a version that masked less.
    was, now = (
        _unmeasured(msgspec.json.decode(masked(encoded)))
        for encoded in (msgspec.json.encode(entry.reply), answer.encode())
    )
    if 'warnings' not in was:  # the worker that wrote the log gave none
        now.pop('warnings', None)
    if msgspec.json.encode(was) == msgspec.json.encode(now):
        return []
    return list(_compared(was, now, '$')) or [Difference('$ (the same in another order)', was, now)]


def _unmeasured(reply: dict[str, Any]) -> dict[str, Any]:
    if 'decisions' not in reply:
        return reply
    return {
        **reply,
        'decisions': [{**decision, 'elapsed_ms': 0} for decision in reply['decisions']],
    }


def _compared(was: Any, now: Any, at: str) -> Iterator[Difference]:
    """Where two trees part, as deep as they are alike."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(key for key in now if key not in was)]:
            yield from _compared(was.get(key, ABSENT), now.get(key, ABSENT), f'{at}.{key}')
    elif isinstance(was, list) and isinstance(now, list):
        for i in range(max(len(was), len(now))):
            one = was[i] if i < len(was) else ABSENT
            other = now[i] if i < len(now) else ABSENT
            yield from _compared(one, other, f'{at}[{i}]')
    elif was != now or type(was) is not type(now):
        yield Difference(at, was, now)
