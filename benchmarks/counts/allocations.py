"""Memory of a check in process, counted by Python's allocator."""

import gc
import itertools
import sys
import tracemalloc

from benchmarks.clusters import encoded, shrinking
from benchmarks.counts.checks import endpoints
from benchmarks.counts.count import Count

NODES = 1000
CHECKS = 200  # free lists of the interpreter vary by some dozen blocks
ROUNDS = 4
"""Rounds of checks; a leak shows in each of them, a container that grows once in one."""
TOLERANCE = 0.05  # releases of Python lay out objects in other ways


def counted() -> list[Count]:
    """Return the bytes per node at the peak of a check, and the blocks left after it."""
    made, asked = endpoints(), encoded(shrinking(NODES))
    blocks = []
    for _ in range(1 + ROUNDS):  # the first round fills caches
        for _ in range(CHECKS):
            made.policy_check(asked)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    left = min(after - before for before, after in itertools.pairwise(blocks)) / CHECKS
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
