"""The records of the decision log, a line of JSON per decision: how they are written and read.

A record holds everything that a decision depends on, so that it can be replayed: the request, the
responses of the cloud, the readings of clocks, and the settings. Logs of all earlier versions are
read.
"""

import datetime
import gzip
import logging
import math
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any, Literal

import msgspec
from msgspec import structs

from placement_worker import errors
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.cloud.intercepted.recording import Answer, Recording
from placement_worker.contract import codec, rpc
from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    ContractStruct,
    ForeignExcerpt,
    Package,
)
from placement_worker.decisions.masking import masked
from placement_worker.errors import InvalidInput, InvalidRequest
from placement_worker.formats import documents
from placement_worker.handlers.decision_state import Conditions, ReplyT, Request
from placement_worker.planning.places import Cordon

LOG = logging.getLogger(__name__)
_OCTAVIA_SETTINGS = ('batch_members', 'poll_initial_s', 'poll_max_s', 'max_attempts')
_OMITTED = frozenset({'credentials', 'reply_to'})  # fields that a replay does not need
_MODE = 0o640  # of the log
_GZIP_MAGIC = b'\x1f\x8b'  # https://www.rfc-editor.org/rfc/rfc1952#page-6
MALFORMED = (InvalidRequest, InvalidInput)  # of a record that was edited


class Entry(ContractStruct, frozen=True, kw_only=True):
    """A line of the decision log.

    :ivar host: the `[worker] host`; older records have none.
    :ivar cloud: the calls to the cloud with their responses, in order.
    :ivar clock: the readings of the clock while a load balancer was pending.
    :ivar left_s: the readings of the seconds until the request expires.
    :ivar cordons: the cordons in force at `at`; older records have none.
    :ivar packages: name and version of each package whose policies the request has, e.g.
        `acme-policy 1.1`, without those of placement-worker.
    """

    at: datetime.datetime
    version: str
    host: str | None = None
    request_id: str | None
    max_nodes: int
    # The log keeps the name `driving` for compatibility with recorded decisions.
    octavia_settings: dict[str, Any] = msgspec.field(name='driving')
    method: Literal['policy_check', 'policy_attach', 'policy_detach', 'policy_rebalance']
    request: msgspec.Raw
    cloud: list[Answer]
    clock: list[float]
    left_s: list[float]
    reply: dict[str, Any]
    cordons: list[Cordon] = []
    packages: list[str] = []


@dataclass(frozen=True, slots=True)
class DecisionLog:
    """Recorder with a line per decision; `append` takes it with its end, and must not raise."""

    append: Callable[[bytes], None]
    host: str | None
    packages: Mapping[str, Package]
    version: str = field(init=False, default_factory=lambda: metadata.version('placement-worker'))

    def __call__(
        self,
        method: str,
        request: Request,
        request_id: str | None,
        conditions: Conditions,
        decide: Callable[[Conditions], ReplyT],
    ) -> ReplyT:
        answers: list[Answer] = []
        clock: list[float] = []
        left_s: list[float] = []
        settings = conditions.octavia_settings
        noted = structs.replace(
            conditions,
            clouds=InterceptedClouds(conditions.clouds, Recording(answers)),
            octavia_settings=replace(settings, clock=_noting(settings.clock, clock)),
            left_s=_noting(conditions.left_s, left_s),
        )
        reply = decide(noted)
        try:
            entry = {
                'at': conditions.now,
                'version': self.version,
                'host': self.host,
                'request_id': request_id,
                'max_nodes': conditions.max_nodes,
                'driving': {name: getattr(settings, name) for name in _OCTAVIA_SETTINGS},
                'method': method,
                'request': {
                    name: getattr(request, name)
                    for name in request.__struct_fields__
                    if name not in _OMITTED
                },
                'cloud': answers,
                'clock': clock,
                'left_s': left_s,
                'reply': reply,
                'cordons': conditions.cordons,
                'packages': _packages_of(request, self.packages),
            }
            line = masked(msgspec.json.encode(entry))
        except Exception as exc:  # the cloud has been changed, so the caller needs the reply
            LOG.error('Failed to record the decision of request %s: %s', request_id, exc)
        else:
            self.append(line + b'\n')
        return reply


class LogFile:
    """A file of lines, each of them appended in one write.

    The lines of several processes and threads stay whole on local file systems, but not on NFS.
    Writes are not synchronized, so a power failure may lose the last lines.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._is_failing = False
        self._owed = b''  # the newline after a line that a full disk may have cut
        self._descriptor = self._open()

    def append(self, line: bytes) -> None:
        """Append a line. The log reports the first of several failures; none is raised."""
        with self._lock:
            try:
                if self._was_moved():
                    descriptor = self._open()
                    os.close(self._descriptor)
                    self._descriptor = descriptor
                    self._owed = b''
                self._write(self._owed + line)
            except OSError as exc:
                if not self._is_failing:
                    LOG.error('Failed to write the decision log: %s', errors.file_error(exc))
                self._is_failing = True
            else:
                if self._is_failing:
                    LOG.warning('The decision log can be written again: %s', self._path)
                self._is_failing = False

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)

    def _was_moved(self) -> bool:
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(self._descriptor))
        except FileNotFoundError:
            return True

    def _write(self, line: bytes) -> None:
        # Also if nothing is written: the disk may have cut the line of another process.
        self._owed = b'\n'
        written = os.write(self._descriptor, line)
        if written < len(line):
            raise OSError(f'{self._path}: wrote only {written} of {len(line)} bytes of a line')
        self._owed = b''


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line of a log that is no record, or whose request or reply is not valid any more."""

    path: str
    number: int
    error: str


@dataclass(frozen=True, slots=True)
class CheckRecord:
    entry: Entry
    request: CheckRequest
    reply: CheckReply

    @property
    def data(self) -> Mapping[str, Any]:
        return self.reply.action.data


@dataclass(frozen=True, slots=True)
class BindingRecord:
    entry: Entry
    request: BindRequest
    reply: BindReply


class LogReader:
    """A log in a file, which logrotate may have compressed.

    :ivar share: of the file that has been read, from 0 to 1; 0 if its size is unknown.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.share = 0.0

    def entries(
        self, texts: Sequence[bytes] = (b'',)
    ) -> Iterator[tuple[int, Entry | InvalidRequest]]:
        """Yield the entries with their line numbers, or the error of a malformed line.

        :param texts: of the well-formed lines, only those that contain one of these texts.
        :raises OSError: the file cannot be read.
        :raises Damaged: the file cannot be decompressed.
        """
        with open(self.path, 'rb') as file:
            size = os.fstat(file.fileno()).st_size
            is_compressed = self.path.endswith('.gz') or file.peek(2).startswith(_GZIP_MAGIC)
            lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if is_compressed else file
            try:
                for number, line in enumerate(lines, start=1):
                    self.share = file.tell() / size if size else 0
                    if not line.strip():
                        continue
                    if any(text in line for text in texts):
                        yield number, _entry(line)
                    elif error := _damage(line):
                        yield number, error
            except (gzip.BadGzipFile, EOFError, zlib.error) as exc:
                raise documents.Damaged(f'{self.path} cannot be decompressed: {exc}') from exc


def lines_with(
    logs: Sequence[LogReader], texts: Iterable[str]
) -> Iterator[tuple[str, int, Entry | InvalidRequest]]:
    """Yield path, number and content of the lines that contain one of the texts.

    Plans of a rebalance are left out: alone they change nothing.
    """
    sought = [msgspec.json.encode(text)[1:-1] for text in texts]
    for log in logs if sought else ():
        for number, entry in log.entries(sought):
            if not (isinstance(entry, Entry) and entry.method == rpc.POLICY_REBALANCE.name):
                yield log.path, number, entry


def decoded(entry: Entry | InvalidRequest) -> CheckRecord | BindingRecord:
    """Decode request and reply.

    :raises InvalidRequest: they are not valid any more, or the line is no record.
    """
    if isinstance(entry, InvalidRequest):
        raise entry
    request = bytes(entry.request)
    if entry.method == rpc.POLICY_CHECK.name:
        reply = codec.decode(entry.reply, CheckReply, at='$.reply')
        codec.decode(reply.action.data, _Outcome, at='$.reply.action.data')
        return CheckRecord(entry, codec.decode_encoded(request, CheckRequest), reply)
    return BindingRecord(
        entry,
        codec.decode_encoded(request, BindRequest),
        codec.decode(entry.reply, BindReply, at='$.reply'),
    )


def circumstances(record: CheckRecord | BindingRecord) -> dict[str, Any]:
    entry, cluster = record.entry, record.request.cluster
    return {
        'at': entry.at,
        'cluster': cluster.name or cluster.id,
        'version': entry.version,
        'request_id': entry.request_id,
        'host': entry.host,
        'packages': entry.packages,
        'warnings': record.reply.warnings,
    }


def _entry(line: bytes) -> Entry | InvalidRequest:
    try:
        return codec.decode_encoded(line, Entry)
    except InvalidRequest as exc:
        return exc


def _damage(line: bytes) -> InvalidRequest | None:
    """Return the error of a line that is not JSON, or None; no object is built."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError as exc:
        return InvalidRequest(f'Expected JSON - at `$`: {exc}')
    return None


class _Outcome(ForeignExcerpt, frozen=True):
    # the data that each decision writes to the action

    status: Literal['OK', 'ERROR']
    reason: str


def _noting(read: Callable[[], float], readings: list[float]) -> Callable[[], float]:
    """Return a function that appends each reading to a list, except infinity, which JSON lacks."""

    def noted() -> float:
        value = read()
        if value != math.inf:
            readings.append(value)
        return value

    return noted


def _packages_of(request: Request, packages: Mapping[str, Package]) -> list[str]:
    bound = [request.policy] if isinstance(request, BindRequest) else request.policies
    used = {packages.get(policy.spec.type_name) for policy in bound if policy.enabled}
    return sorted(f'{package.name} {package.version}' for package in used if package)
