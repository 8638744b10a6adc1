"""Adding members to a pool of real Octavia: in one update, and one by one with waits.

    python -m benchmarks.members [--sizes 1 10 50] [--rounds 3] [--json FILE]

Starts the services of tests/integration (see CONTRIBUTING.rst). Both ways alternate on the same
Octavia, each on its own pool. Senlin adds members one by one, and sleeps 10 s between two looks at
the load balancer; here both ways look equally often.
"""

import argparse
import json
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from placement_worker.cloud.ports import OctaviaSettings
from tests.integration import trusts
from tests.integration.cloud import Cloud
from tests.integration.clusters import Cluster, lb_policy

WAYS = {'together': True, 'one at a time': False}


def measure(openstack: Cloud, folder: Path, size: int, *, together: bool) -> tuple[float, int]:
    """Return the seconds and the load balancer updates to add members to a new pool."""
    octavia_settings = OctaviaSettings(batch_members=together, poll_initial_s=0.1, poll_max_s=0.5)
    cluster = Cluster(
        openstack,
        trusts.endpoints(openstack, folder, lambda: octavia_settings),
        f'bench-{uuid.uuid4()}',
        1,
    )
    cluster.policy = lb_policy(lb_status_timeout=3600)
    attached = cluster.attach()
    if attached['status'] != 'OK':
        raise RuntimeError(attached['reason'])
    new = cluster.grow(size)
    started = time.perf_counter()
    reply = cluster.added(new)
    seconds = time.perf_counter() - started
    details = reply['decisions'][0]['details']
    if len(details['added']) != size:
        raise RuntimeError(reply['action']['data']['reason'])
    cluster.detach()
    return seconds, details['updates']


def run(sizes: list[int], rounds: int) -> list[dict[str, Any]]:
    """Return a row per size: medians, and the ratio of each round."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        openstack = Cloud().start()
        try:
            measure(openstack, Path(folder), 1, together=True)  # warm up sessions and endpoints
            for size in sizes:
                pairs = [
                    {
                        way: measure(openstack, Path(folder), size, together=flag)
                        for way, flag in WAYS.items()
                    }
                    for _ in range(rounds)
                ]
                ratios = [pair['one at a time'][0] / pair['together'][0] for pair in pairs]
                row: dict[str, Any] = {'members': size}
                for way in WAYS:
                    row[f'{way}, s'] = round(statistics.median(pair[way][0] for pair in pairs), 2)
                    row[f'{way}, updates'] = pairs[0][way][1]
                row['ratio'] = round(statistics.median(ratios), 1)
                row['spread'] = f'{min(ratios):.1f} to {max(ratios):.1f}'
                rows.append(row)
        finally:
            openstack.close()
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--sizes', type=int, nargs='+', default=[1, 10, 50])
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--json', type=Path, help='also write the rows here')
    args = parser.parse_args()
    rows = run(args.sizes, args.rounds)
    columns = list(rows[0])
    print(' | '.join(columns))
    for row in rows:
        print(' | '.join(str(row[column]).rjust(len(column)) for column in columns))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2))


if __name__ == '__main__':
    main()
