"""A worker under full load for minutes: its memory and file descriptors must not grow.

    python -m benchmarks.soak [--minutes 10]

Starts a private RabbitMQ and a worker of two processes, keeps it busy from sixteen threads with
checks of 3, 200 and 2,000 nodes, with refused requests and with casts, and prints resident memory
and open files of each process every ten seconds.
"""

import argparse
import collections
import random
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from placement_worker.cmd import threading_backend

threading_backend.choose()

from placement_worker.errors import Refused  # noqa: E402
from tests.broker import Broker  # noqa: E402
from tests.factories import deletion_policy, node, region_policy, request, zone_policy  # noqa: E402
from tests.functional.conftest import Worker  # noqa: E402

CALLERS = 16
SAMPLE_S = 10
REGIONS = {name: {'zones': {'a': True, 'b': True}} for name in ('R1', 'R2')}


def check(nodes: int) -> dict:
    """Return a shrinking cluster with a number of nodes and all three policies."""
    members = [
        {**node(1 + n % 28, 'ab'[n % 2], f'R{1 + n % 2}'), 'id': f'n{n}', 'index': n}
        for n in range(nodes)
    ]
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy('RANDOM')]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': max(1, nodes // 10)})


def load(worker: Worker, enough: threading.Event, done: collections.Counter) -> None:
    """Run one caller: mostly small checks, sometimes a large one, a cast, or an invalid one."""
    checks = [check(nodes) for nodes in (3, 200, 2000)]
    draw = random.Random()
    with closing(worker.client()) as client:
        while not enough.is_set():
            (asked,) = draw.choices(checks, weights=[60, 35, 5])
            kind = draw.random()
            if kind < 0.05:
                client.cast_check(asked)
            elif kind < 0.1:
                try:
                    client.policy_check(
                        {**asked, 'policies': [{'id': 'p', 'spec': {'type': 'x', 'version': '1'}}]}
                    )
                except Refused:
                    done['refused'] += 1
            else:
                client.policy_check(asked)
            done['all'] += 1


def sample(worker: Worker) -> list[tuple[int, float, int]]:
    """Return id, resident memory in MiB and number of open files of each process."""
    found = []
    for pid in worker.children():
        status = Path(f'/proc/{pid}/status').read_text()
        resident = next(
            int(line.split()[1]) for line in status.splitlines() if line.startswith('VmRSS')
        )
        found.append((pid, resident / 1024, len(list(Path(f'/proc/{pid}/fd').iterdir()))))
    return found


def main() -> int:
    """Run, and print a line every ten seconds and a summary at the end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--minutes', type=float, default=10)
    minutes = parser.parse_args().minutes
    broker = Broker().start()
    worker = Worker(Path(tempfile.mkdtemp()), broker.url, {'regions': REGIONS}, workers=2)
    worker.config.write_text(worker.config.read_text().replace('debug = true', 'debug = false'))
    enough, done = threading.Event(), collections.Counter()
    callers = [threading.Thread(target=load, args=(worker, enough, done)) for _ in range(CALLERS)]
    samples = []
    try:
        worker.wait_until_ready()
        for caller in callers:
            caller.start()
        began = time.monotonic()
        while time.monotonic() - began < minutes * 60:
            time.sleep(SAMPLE_S)
            samples.append(sample(worker))
            shown = ', '.join(
                f'{pid}: {resident:.1f} MiB, {files} files' for pid, resident, files in samples[-1]
            )
            print(
                f'{time.monotonic() - began:6.0f} s  {done["all"]:8d} requests  {shown}', flush=True
            )
        took = time.monotonic() - began
    finally:
        enough.set()
        for caller in callers:
            caller.join()
        worker.stop()
        broker.close()
    for number, (pid, *_) in enumerate(samples[0]):
        early, late = samples[len(samples) // 5][number], samples[-1][number]
        print(f'{pid}: {early[1]:.1f} -> {late[1]:.1f} MiB, {early[2]} -> {late[2]} files')
    print(
        f'{done["all"]} requests ({done["refused"]} refused) in {took:.0f} s: '
        f'{done["all"] / took:.0f} a second'
    )
    return 0


if __name__ == '__main__':
    sys.exit(main())
