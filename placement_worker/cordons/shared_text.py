"""A text that processes share."""

import contextlib
import fcntl
import os
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

CHECKSUM_BYTES = 4


class SharedText:
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
        checksum, encoded = content[:CHECKSUM_BYTES], content[CHECKSUM_BYTES:]
        return encoded.decode() if checksum == _checksum(encoded) else None

    @contextlib.contextmanager
    def _locked(self, kind: int) -> Iterator[BinaryIO]:
        # Each time the file is opened it gets a lock of its own: threads exclude each other, too.
        with open(f'/proc/self/fd/{self._descriptor}', 'r+b') as file:
            fcntl.flock(file, kind)
            yield file


def _checksum(encoded: bytes) -> bytes:
    return zlib.crc32(encoded).to_bytes(CHECKSUM_BYTES, 'big')
