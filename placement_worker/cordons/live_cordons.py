"""The cordons of a file that may change while a process runs.

A file that was damaged by an edit must neither stop a worker nor open the places that it closed,
and all processes of a worker must decide alike, also one that starts while the file is damaged.
"""

import contextlib
import datetime
import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

import msgspec

from placement_worker.contract import codec
from placement_worker.cordons import cordon_file
from placement_worker.errors import file_error
from placement_worker.formats.text import counted
from placement_worker.planning.places import Cordon, cordons_in_force

LOG = logging.getLogger(__name__)
# The identity, size and times of a file, or why they cannot be read.
_Signature = tuple[int, ...] | str


class _Content(NamedTuple):
    signature: _Signature  # of the last content, valid or not
    cordons: tuple[Cordon, ...]  # of the last valid content
    is_valid: bool


class LiveCordons:
    """The cordons of a file; each use costs one `stat`, and a change of the file one read.

    If the changed file is invalid or missing, its last valid content stays in force: the last that
    this process or, if the content is shared, another process has read. There is no lock of
    threads, which a forked process might inherit while it is held: two threads may read the file at
    once, and the thread that read older content is corrected by the next use.

    :raises InvalidCordonFile: the file cannot be read at first, or its content is not valid.
    """

    def __init__(self, path: str, *, is_shared: bool = False) -> None:
        """Read the file; with `is_shared`, forked processes share the last valid content."""
        self._path = path
        # The signature is older than the content: if the file changes in between, it is read again.
        signature = _signature(path)
        self._content = _Content(signature, tuple(cordon_file.read(path)), is_valid=True)
        self._last_valid = _SharedCordons(self._content.cordons) if is_shared else None

    @property
    def all(self) -> tuple[Cordon, ...]:
        return self._current().cordons

    @property
    def is_valid(self) -> bool:
        return self._current().is_valid

    def in_force(self, now: datetime.datetime) -> tuple[Cordon, ...]:
        return cordons_in_force(self._current().cordons, now)

    def _current(self) -> _Content:
        content, signature = self._content, _signature(self._path)
        if signature != content.signature:
            content = self._content = self._read(content, signature)
        return content

    def _read(self, before: _Content, signature: _Signature) -> _Content:
        try:
            cordons = tuple(cordon_file.read(self._path))
        except cordon_file.InvalidCordonFile as exc:
            shared = self._last_valid.read() if self._last_valid else None
            kept = before.cordons if shared is None else shared
            number = counted(len(kept), 'cordon')
            LOG.warning('Kept %s of the last valid cordon file: %s', number, exc)
            return _Content(signature, kept, is_valid=False)
        if self._last_valid:
            self._last_valid.replace(cordons, lambda: _signature(self._path) == signature)
        LOG.info('Read %s from %s', counted(len(cordons), 'cordon'), self._path)
        return _Content(signature, cordons, is_valid=True)


def _signature(path: str) -> _Signature:
    try:
        status = os.stat(path)
    except OSError as exc:
        return file_error(exc)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _SharedCordons:
    """Cordons in memory that a process shares with those that it forks later.

    The kernel releases the lock of a process that is killed while it writes. The array then lacks
    its end, and `read` returns None.

    :source: memfd_create(2) and flock(2) of Linux.
    """

    def __init__(self, cordons: Sequence[Cordon]) -> None:
        self._descriptor = os.memfd_create('cordons')
        self.replace(cordons, lambda: True)

    def replace(self, cordons: Sequence[Cordon], is_current: Callable[[], bool]) -> None:
        """Replace the cordons, unless they are not current any more once the lock is held."""
        with self._locked(fcntl.LOCK_EX) as file:
            if is_current():
                file.truncate()
                file.write(msgspec.json.encode(cordons))

    def read(self) -> tuple[Cordon, ...] | None:
        """Return the cordons, or None if a process was killed while it replaced them."""
        with self._locked(fcntl.LOCK_SH) as file:
            return codec.decoded_or_none(msgspec.Raw(file.read()), tuple[Cordon, ...])

    @contextlib.contextmanager
    def _locked(self, kind: int) -> Iterator[BinaryIO]:
        # Each time the file is opened it gets a lock of its own: threads exclude each other, too.
        with open(f'/proc/self/fd/{self._descriptor}', 'r+b') as file:
            fcntl.flock(file, kind)
            yield file
