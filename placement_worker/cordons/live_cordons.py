"""The cordons of a file that may change while a process runs.

A file that was damaged by an edit must neither stop a worker nor open the places that it closed,
and all processes of a worker must decide alike, also one that starts while the file is damaged.
"""

import contextlib
import datetime
import fcntl
import logging
import os
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from placement_worker.cordons import cordon_file
from placement_worker.errors import file_error
from placement_worker.formats.documents import Source
from placement_worker.formats.text import counted
from placement_worker.planning.places import Cordon, cordons_in_force

LOG = logging.getLogger(__name__)
_CHECKSUM_BYTES = 4
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
        source = cordon_file.source_of(path)
        self._content = _Content(signature, tuple(cordon_file.parse(source)), is_valid=True)
        self._last_valid = _SharedText(source.text) if is_shared else None

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
            source = cordon_file.source_of(self._path)
            cordons = tuple(cordon_file.parse(source))
        except cordon_file.InvalidCordonFile as exc:
            shared = self._shared()
            kept = before.cordons if shared is None else shared
            number = counted(len(kept), 'cordon')
            LOG.warning('Kept %s of the last valid cordon file: %s', number, exc)
            return _Content(signature, kept, is_valid=False)
        if self._last_valid:
            self._last_valid.replace(source.text, lambda: _signature(self._path) == signature)
        LOG.info('Read %s from %s', counted(len(cordons), 'cordon'), self._path)
        return _Content(signature, cordons, is_valid=True)

    def _shared(self) -> tuple[Cordon, ...] | None:
        text = self._last_valid and self._last_valid.read()
        return tuple(cordon_file.parse(Source(self._path, text))) if text else None


def _signature(path: str) -> _Signature:
    try:
        status = os.stat(path)
    except OSError as exc:
        return file_error(exc)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _SharedText:
    """A text in memory that a process shares with those that it forks later.

    The kernel releases the lock of a process that is killed, and a checksum shows a text that it
    left half written.

    :source: memfd_create(2) and flock(2) of Linux.
    """

    def __init__(self, text: str) -> None:
        self._descriptor = os.memfd_create('shared-text')
        self.replace(text, lambda: True)

    def replace(self, text: str, is_current: Callable[[], bool]) -> None:
        """Replace the text, unless it is not current any more once the lock is held."""
        encoded = text.encode()
        with self._locked(fcntl.LOCK_EX) as file:
            if is_current():
                file.write(_checksum(encoded) + encoded)
                file.truncate()

    def read(self) -> str | None:
        """Return the text, or None if a process was killed while it replaced the text."""
        with self._locked(fcntl.LOCK_SH) as file:
            content = file.read()
        checksum, encoded = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        return encoded.decode() if checksum == _checksum(encoded) else None

    @contextlib.contextmanager
    def _locked(self, kind: int) -> Iterator[BinaryIO]:
        # Each time the file is opened it gets a lock of its own: threads exclude each other, too.
        with open(f'/proc/self/fd/{self._descriptor}', 'r+b') as file:
            fcntl.flock(file, kind)
            yield file


def _checksum(encoded: bytes) -> bytes:
    return zlib.crc32(encoded).to_bytes(_CHECKSUM_BYTES, 'big')
