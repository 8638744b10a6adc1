"""The policies that run in each process of the worker, in memory that outlives the process.

A process that crashes or is killed cannot log what it did, but its parent can.
"""

import mmap
import threading
from collections.abc import Mapping

from typing_extensions import override

from placement_worker.events.listener import Listener
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    Event,
    PluginEnded,
    PluginStarted,
    RequestFailed,
)
from placement_worker.formats.text import escaped, shortened

ROW_BYTES = 1024
"""The memory of one process; further names are left out."""


class RunningPolicies:
    """A row of text per process, which the process writes and its parent reads.

    It names the policies of other packages that a check consults, and each policy that is attached
    or detached.
    """

    def __init__(self, processes: int) -> None:
        """Map memory that processes share after a fork."""
        self._memory = mmap.mmap(-1, processes * ROW_BYTES)

    def of_process(self, number: int) -> Listener:
        """Return the listener that writes the row of a process."""
        return _Row(self._memory, number * ROW_BYTES)

    def take(self, number: int) -> list[str]:
        """Return the names in the row of a process that has ended, and empty the row."""
        start = number * ROW_BYTES
        row = self._memory[start : start + ROW_BYTES].rstrip(b'\0').decode(errors='replace')
        self._memory[start : start + ROW_BYTES] = bytes(ROW_BYTES)
        return row.split('\n') if row else []


class _Row(Listener):
    """Listener that keeps the row of its process; each thread runs one policy at a time."""

    def __init__(self, memory: mmap.mmap, start: int) -> None:
        self._memory, self._start = memory, start
        self._lock = threading.Lock()
        self._running: Mapping[int, str] = {}

    @override
    def handle(self, event: Event) -> None:
        match event:
            case PluginStarted(policy_type):
                self._set(policy_type)
            case BindingStarted(request=request):
                self._set(request.policy.spec.type_name)
            case PluginEnded() | BindingEnded() | RequestFailed():
                self._set(None)

    def _set(self, policy_type: str | None) -> None:
        """Set the policy that this thread runs."""
        thread = threading.get_ident()
        with self._lock:
            others = {key: name for key, name in self._running.items() if key != thread}
            self._running = {**others, thread: policy_type} if policy_type else others
            names = sorted({escaped(shortened(name)) for name in self._running.values()})
            row = '\n'.join(names).encode()[:ROW_BYTES].ljust(ROW_BYTES, b'\0')
            self._memory[self._start : self._start + ROW_BYTES] = row
