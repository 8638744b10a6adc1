"""The cost of `placement-policy check --lines`, compared with checks in process."""

import gc
import io
import tempfile
from pathlib import Path

import msgspec

from benchmarks.clusters import CLOUD, encoded, shrinking
from benchmarks.pairing import Effort, cpu_ms, interleaved, ratio, timed
from benchmarks.results import Bar, Result, Row, Table
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry

NODES = (10_000, 100_000)
BAR = 1.5
FILE_NODES = 200_000  # nodes of all lines of a file together, so that the start counts little


def run(effort: Effort) -> Result:
    """Measure the command and the checks in turns, for each size of cluster."""
    gc.freeze()
    rows, bars = [], []
    for nodes in NODES:
        row, bar = _compared(nodes, effort)
        rows.append(row)
        bars.append(bar)
    note = 'CPU time of a line: a CLUSTER_SCALE_IN by a tenth, from JSON to JSON.'
    return Result([Table('check --lines', rows, note)], bars)


def _compared(nodes: int, effort: Effort) -> tuple[Row, Bar]:
    count, asked = FILE_NODES // nodes, encoded(shrinking(nodes))
    endpoints = Endpoints(Inventory.parse(CLOUD, 'the cloud'), Registry.installed())
    with tempfile.TemporaryDirectory() as folder:
        requests, cloud = Path(folder) / 'requests', Path(folder) / 'cloud'
        requests.write_text(f'{asked}\n' * count)
        cloud.write_bytes(msgspec.json.encode(CLOUD))
        contenders = {
            'lines': lambda: timed(lambda: _run_command(requests, cloud)),
            'checks': lambda: timed(lambda: _run_checks(endpoints, asked, count)),
        }
        found = interleaved(contenders, effort.rounds)
    lines, checks = ([one.cpu_ms for one in found[name]] for name in ('lines', 'checks'))
    times = ratio(lines, checks)
    row = {
        'nodes': nodes,
        'lines in a file': count,
        'file ms': str(cpu_ms(found['lines'])),
        'checks ms': str(cpu_ms(found['checks'])),
        'ratio': str(times),
    }
    return row, Bar(f'check --lines / check in process, {nodes} nodes', times.mid, BAR)


def _run_command(requests: Path, cloud: Path) -> None:
    program = PlacementPolicy()
    program.stdout = io.StringIO()
    status = program.run(['check', '--lines', '--cloud', str(cloud), str(requests)])
    if status:
        raise AssertionError(f'The command ended with status {status}')


def _run_checks(endpoints: Endpoints, asked: str, count: int) -> None:
    for _ in range(count):
        endpoints.policy_check(asked)
