"""A program that decides one request so many times: python -m benchmarks.counts.checks FILE
TIMES.
"""

import sys
from pathlib import Path

from benchmarks.clusters import CLOUD
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from placement_worker.worker import garbage_collection


def endpoints() -> Endpoints:
    """Those of a worker over the embedded cloud, with a clock that stands: so all replies are the
    same.
    """
    return Endpoints(Inventory.parse(CLOUD, 'the cloud'), Registry.installed(), clock=lambda: 0.0)


def main(file: str, times: str) -> None:
    """Decide."""
    asked, made = Path(file).read_text(), endpoints()
    garbage_collection.settle()
    for _ in range(int(times)):
        made.policy_check(asked)


if __name__ == '__main__':
    main(*sys.argv[1:])
