"""Many clusters that scale at once, by Senlin with the plugin and by Senlin alone.

    python -m benchmarks.senlin [--clusters 200] [--computes] [--json FILE]

Run it by `tox -e cloud-load`: it needs Senlin, and starts the cloud of tests/cloud (see
CONTRIBUTING.rst). Both ways take turns on the same clusters, in the order with, alone, alone, with.
By default a simulated Nova creates servers at once and without ports, so that Senlin and the
workers determine the time. With `--computes`, Nova and Neutron create them.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.senlin import tables
from benchmarks.senlin.fleet import Fleet
from benchmarks.senlin.instant_servers import CloudOfInstantServers
from benchmarks.senlin.measuring import measure
from benchmarks.senlin.tables import Arm
from tests.cloud.whole_cloud import WholeCloud

WITH_PLUGIN = (True, False, False, True)
WITHOUT_PORTS: dict[str, Any] = {'networks': []}


def run(cloud: WholeCloud, clusters: int, **server: Any) -> Iterator[Arm]:
    """Create clusters, and yield each arm when it has ended.

    :param server: properties of the profile.
    """
    cloud.run_only(*cloud.workers)
    fleet = Fleet(cloud, clusters, **server)
    report('the clusters exist')
    for with_plugin in WITH_PLUGIN:
        cloud.senlin_programs.restart_engines(cloud.senlin_admin, with_plugin)
        arm = run_arm(cloud, fleet)
        seconds = {action: round(one.seconds) for action, one in arm.measured.items()}
        report(f'{arm.name}: {seconds}')
        yield arm


def run_arm(cloud: WholeCloud, fleet: Fleet) -> Arm:
    """Let each cluster create its only node, and delete it.

    Nova must have the servers in the zones that the workers chose.
    """
    created = measure(cloud, fleet, 'scale_out', count=1)
    zones = fleet.zones()
    assert {len(found) for found in zones.values()} == {1}
    assert created.zones in ({}, zones)
    deleted = measure(cloud, fleet, 'scale_in', count=1)
    assert not any(fleet.zones().values())
    decides = cloud.senlin_programs.has_plugin
    return Arm(decides, {'scale out': created, 'scale in': deleted})


def report(text: str) -> None:
    """Print progress."""
    load = os.getloadavg()[0]
    print(f'{time.strftime("%H:%M:%S")} load average {load:.1f}: {text}', file=sys.stderr)


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.senlin')
    parser.add_argument('--clusters', type=int, default=200)
    parser.add_argument('--computes', action='store_true', help='Nova creates the servers')
    parser.add_argument('--json', type=Path, metavar='FILE', help='also write all figures there')
    args = parser.parse_args()
    report(f'starting the cloud for {args.clusters} clusters')
    cloud = WholeCloud() if args.computes else CloudOfInstantServers()
    cloud.start()
    arms = []
    try:
        for arm in run(cloud, args.clusters, **({} if args.computes else WITHOUT_PORTS)):
            arms.append(arm)
            if args.json:
                args.json.write_text(json.dumps([asdict(one) for one in arms], indent=2) + '\n')
    except BaseException as error:
        error.add_note(cloud.processes.output())
        raise
    finally:
        cloud.close()
    for table in tables.of(arms):
        print(results.text(table))


if __name__ == '__main__':
    main()
