"""Writes of the broker and switches of the worker's threads, counted per call of 3 nodes."""

import contextlib
import re
from pathlib import Path

from benchmarks import servers
from benchmarks.clusters import shrinking
from benchmarks.counts.count import Count
from tests.broker import Broker

NODES = 3
CALLS = 200
WARM_UP = 20
# The counter of the log that the quorum queues of a broker share. With one caller, the broker syncs
# the log to disk about once per write.
WRITES = 'maps:get(writes, maps:get(ra_log_wal, ra_counters:overview())).'
WRITE_TOLERANCE = 0.1  # replies that arrive slowly are acknowledged in smaller groups
SWITCH_TOLERANCE = 0.5  # a busy machine lets threads meet more often; a new hand-over is one more


def counted() -> list[Count]:
    """Count for one caller and one worker process."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(contextlib.closing(Broker())).start()
        worker = stack.enter_context(servers.worker(broker.url))
        client = stack.enter_context(contextlib.closing(worker.client()))
        (pid,) = worker.children()
        asked = shrinking(NODES)
        for _ in range(WARM_UP):
            client.policy_check(asked)
        before = _writes(broker), _switches(pid)
        for _ in range(CALLS):
            client.policy_check(asked)
        after = _writes(broker), _switches(pid)
    writes, switches = (
        round((late - early) / CALLS, 1) for early, late in zip(before, after, strict=True)
    )
    return [
        Count('broker: writes to its log a call', writes, WRITE_TOLERANCE),
        Count('worker: switches of threads a call', switches, SWITCH_TOLERANCE),
    ]


def _writes(broker: Broker) -> int:
    return int(broker.control('eval', WRITES))


def _switches(pid: int) -> int:
    """Return how often threads of a process have given up a processor to wait."""
    statuses = (task / 'status' for task in Path(f'/proc/{pid}/task').iterdir())
    found = (re.search(r'^voluntary.*\s(\d+)', one.read_text(), re.MULTILINE) for one in statuses)
    return sum(int(one[1]) for one in found if one)
