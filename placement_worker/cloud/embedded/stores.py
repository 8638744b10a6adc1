"""Where the embedded cloud keeps its load balancers: in memory, or in a file that several processes
share.
"""

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

State = dict[str, Any]


class Store(Protocol):
    """Plain data that one at a time may look at and change."""

    def changing(self) -> contextlib.AbstractContextManager[State]:
        """The data, to be read and changed; kept when the block ends, unless it ends with an
        exception.
        """


class MemoryStore:
    """For one process."""

    def __init__(self) -> None:
        self._state: State = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def changing(self) -> Iterator[State]:
        """As `Store.changing`; changes are kept whatever happens."""
        with self._lock:
            yield self._state


class FileStore:
    """For several processes, any of which may be killed: a new file takes the place of the old
    one.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def changing(self) -> Iterator[State]:
        """As `Store.changing`.

        :raises OSError: the file cannot be read or written.
        """
        with self._lock, open(f'{self._path}.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self._path.read_bytes() if self._path.exists() else b'{}'
            state = msgspec.json.decode(before)
            yield state
            after = msgspec.json.encode(state)
            if after != before:
                new = self._path.with_name(f'{self._path.name}.{os.getpid()}')
                new.write_bytes(after)
                new.replace(self._path)
