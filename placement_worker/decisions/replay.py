"""Decide recorded requests again, and compare the replies."""

import gzip
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker import errors
from placement_worker.cloud.intercepted.recording import NotRecorded, replayed_clouds
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract import codec
from placement_worker.contract.model import in_utc
from placement_worker.contract.rpc import Limits
from placement_worker.decisions.masking import masked
from placement_worker.decisions.records import Entry
from placement_worker.formats import documents
from placement_worker.handlers.decision_state import Conditions
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.ports import Record, Recorder, Reply, Request
from placement_worker.policies.registry import Registry

GZIP_MAGIC = b'\x1f\x8b'
"""The first bytes of a compressed file: https://www.rfc-editor.org/rfc/rfc1952#page-6"""
ABSENT = '(nothing)'
ANY_SIZE = 2**62  # bytes; the worker has accepted the request before


class Difference(msgspec.Struct, frozen=True):
    """A difference between two replies: its path, and the recorded and the present value."""

    at: str
    was: Any
    now: Any


def entries(
    path: str, texts: Sequence[bytes] = (b'',)
) -> Iterator[tuple[int, Entry | errors.InvalidRequest]]:
    """Yield the entries of a log with their line numbers, or the error of a malformed line.

    :param path: a file, which logrotate may have compressed.
    :param texts: of the well-formed lines, only those that contain one of these texts.
    :raises OSError: the file cannot be read.
    :raises Damaged: the file cannot be decompressed.
    """
    with open(path, 'rb') as file:
        is_compressed = path.endswith('.gz') or file.peek(2).startswith(GZIP_MAGIC)
        lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if is_compressed else file
        try:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                if any(text in line for text in texts):
                    yield number, _entry(line)
                elif error := _damage(line):
                    yield number, error
        except (gzip.BadGzipFile, EOFError, zlib.error) as exc:
            raise documents.Damaged(f'{path} cannot be decompressed: {exc}') from exc


def _entry(line: bytes) -> Entry | errors.InvalidRequest:
    try:
        return codec.decode_encoded(line, Entry)
    except errors.InvalidRequest as exc:
        return exc


def _damage(line: bytes) -> errors.InvalidRequest | None:
    """Return the error of a line that is not JSON, or None; no object is built."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError as exc:
        return errors.InvalidRequest(f'Expected JSON - at `$`: {exc}')
    return None


class _Replay(Recorder, Record):
    """A recorder that replaces the conditions of a decision by those of an entry.

    No time passes except the time that passed during the recorded decision.
    """

    def __init__(self, entry: Entry, cloud: Clouds) -> None:
        self._entry = entry
        self._cloud = cloud
        self._conditions: Conditions

    @property
    @override
    def conditions(self) -> Conditions:
        return self._conditions

    @override
    def begin(self, request_id: str | None, conditions: Conditions) -> Record:
        recorded_left_s = _readings('remaining time', self._entry.left_s)
        is_endless = conditions.left_s() == math.inf
        self._conditions = replace(
            conditions,
            clouds=self._cloud,
            max_nodes=self._entry.max_nodes,
            now=in_utc(self._entry.at),
            octavia_settings=OctaviaSettings(
                **self._entry.octavia_settings,
                sleep=lambda _: None,
                clock=_readings('clock', self._entry.clock),
            ),
            left_s=conditions.left_s if is_endless else recorded_left_s,
            cordons=self._entry.cordons,
        )
        return self

    @override
    def end(self, method: str, request: Request, reply: Reply) -> None:
        pass  # nothing to keep: the caller compares the reply


def _readings(what: str, recorded: list[float]) -> Callable[[], float]:
    """Return a function that returns the recorded readings one after the other."""
    remaining = iter(recorded)

    def read() -> float:
        for value in remaining:
            return value
        raise NotRecorded(f'The {what} is read more often than in the recorded decision')

    return read


def differences(entry: Entry, registry: Registry) -> list[Difference]:
    """Decide an entry again over its recorded responses and clocks, without any call to a cloud.

    Measured times (`elapsed_ms`) are ignored; any other byte counts.

    :returns: an empty list if the replies are the same.
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
        _without_times(msgspec.json.decode(masked(encoded)))
        for encoded in (msgspec.json.encode(entry.reply), reply)
    )
    if 'warnings' not in was:  # the version that recorded the decision gave none
        now.pop('warnings', None)
    if msgspec.json.encode(was) == msgspec.json.encode(now):
        return []
    return list(_compared(was, now, '$')) or [Difference('$ (the same in another order)', was, now)]


def explained(entry: Entry, registry: Registry) -> dict[str, Any]:
    """Decide a check again with `explain: full`, and return the reply.

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
    """Decide a request over the responses and clocks of an entry, and return the reply as JSON.

    :raises PlacementWorkerError: the request is refused now.
    :raises ValidationError: a recorded response is incomplete.
    """
    cloud = replayed_clouds(entry.cloud)
    limits = Limits(request_bytes=ANY_SIZE)
    endpoints = Endpoints(cloud, registry, recorder=_Replay(entry, cloud), limits=lambda: limits)
    decide = getattr(endpoints, entry.method)
    return bytes(decide(request.decode(), entry.request_id).encode())


def _without_times(reply: dict[str, Any]) -> dict[str, Any]:
    if 'decisions' not in reply:
        return reply
    return {
        **reply,
        'decisions': [{**decision, 'elapsed_ms': 0} for decision in reply['decisions']],
    }


def _compared(was: Any, now: Any, at: str) -> Iterator[Difference]:
    """Yield the deepest differences between two trees."""
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
