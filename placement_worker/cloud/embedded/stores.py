"""Storage for the load balancers of the embedded cloud: memory, or a file shared by processes."""

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec
from typing_extensions import override

State = dict[str, Any]


class Store(Protocol):
    """Plain data that one thread at a time can read and change."""

    def changing(self) -> contextlib.AbstractContextManager[State]:
        """Provide the data to a block, and store its changes unless the block raises an error."""


class MemoryStore(Store):
    """A store for one process; it keeps changes even if the block raises an error."""

    def __init__(self) -> None:
        self._state: State = {}
        self._lock = threading.Lock()

    @override
    @contextlib.contextmanager
    def changing(self) -> Iterator[State]:
        with self._lock:
            yield self._state


class FileStore(Store):
    """A store for several processes, any of which may be killed.

    Each change writes a new file and then renames it. Reading and writing raise OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    @override
    @contextlib.contextmanager
    def changing(self) -> Iterator[State]:
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
