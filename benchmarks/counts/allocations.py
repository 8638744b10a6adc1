"""Memory that a check in process takes, as Python's own allocator counts it."""

import gc
import sys
import tracemalloc

from benchmarks.clusters import encoded, shrinking
from benchmarks.counts.checks import endpoints
from benchmarks.counts.count import Count

NODES = 1000
CHECKS = 20
TOLERANCE = 0.05  # releases of Python lay out objects in other ways


def counted() -> list[Count]:
    """Bytes a node at the peak of a check, and blocks that stay allocated after a check."""
    made, asked = endpoints(), encoded(shrinking(NODES))
    for _ in range(CHECKS):
        made.policy_check(asked)  # what is made once is made now
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(CHECKS):
        made.policy_check(asked)
    gc.collect()
    left = (sys.getallocatedblocks() - before) / CHECKS
    tracemalloc.start()
    try:
        made.policy_check(asked)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return [
        Count(f'bytes a node at the peak, {NODES} nodes', round(peak / NODES), TOLERANCE),
        Count('blocks left by a check', max(0, round(left))),
    ]
