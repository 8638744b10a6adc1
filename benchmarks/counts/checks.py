"""Decide one request several times: python -m benchmarks.counts.checks FILE TIMES."""

import gc
import sys
from pathlib import Path

from benchmarks.clusters import CLOUD
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry


def endpoints() -> Endpoints:
    """Return endpoints over the embedded cloud; the clock stands still, so all replies agree."""
    return Endpoints(
        Inventory.parse(CLOUD, 'the cloud'), Registry.installed(), WorkerSettings(clock=lambda: 0.0)
    )


def main(file: str, times: str) -> None:
    """Decide the request in a file."""
    asked, made = Path(file).read_text(), endpoints()
    gc.freeze()
    for _ in range(int(times)):
        made.policy_check(asked)


if __name__ == '__main__':
    main(*sys.argv[1:])
