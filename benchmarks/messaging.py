"""Checks over RabbitMQ compared with echoes of the same request: the cost of a decision."""

import contextlib
import itertools
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks import echoes, servers
from benchmarks.clusters import shrinking
from benchmarks.pairing import Effort, ratio
from benchmarks.results import Bar, Result, Table
from benchmarks.sampling import Contender, Sample, Samples, compare, cpu_row

NODES = (3, 200, 10_000)
CALLERS = (1, 8, 32)
PROCESSES = (1, 2)
FEW_ROUNDS = 3
NAMES = {'stock': 'echo', 'json': 'echo, JsonPayloadSerializer', 'kombu': 'echo of kombu'}
CHECK, NOTIFIED = 'check', 'check, notifying'
P50_BARS = [
    (3, CHECK, NAMES['stock'], 1.25),
    (200, CHECK, NAMES['stock'], 1.05),
    (10_000, CHECK, NAMES['stock'], 0.90),
]
"""Nodes, contender, reference and the maximum ratio of p50, with one caller and one process."""
_numbers = itertools.count()


def run(effort: Effort) -> Result:
    """Measure all numbers of nodes, callers and worker processes."""
    result = Result()
    with servers.bus() as bus:
        for processes in PROCESSES[:1] if effort.quick or effort.bars_only else PROCESSES:
            with _contenders(bus, processes) as contenders:
                for nodes in NODES:
                    callers = _callers(effort)
                    names = _names(nodes) if effort.bars_only else contenders
                    compared = {name: contenders[name] for name in names}
                    measured = _by_callers(compared, nodes, effort, callers)
                    rows = [
                        {'callers': callers, 'what': name, **_row(samples, name)}
                        for callers, samples in measured.items()
                        for name in samples
                    ]
                    title = f'{nodes} nodes, {processes} process{"es" if processes > 1 else ""}'
                    result.tables += [Table(title, rows, NOTE)] if rows else []
                    result.bars += _bars(processes, nodes, measured)
    return result


def _callers(effort: Effort) -> Sequence[int]:
    """Return the numbers of callers to measure."""
    if effort.bars_only:
        return CALLERS[:1]
    return CALLERS[:2] if effort.quick else CALLERS


def _names(nodes: int) -> Sequence[str]:
    """Return the contenders that the bars compare, without the others."""
    named = [name for limited, *names, _ in P50_BARS if limited == nodes for name in names]
    return tuple(dict.fromkeys(named))


NOTE = (
    'p50/check: how many times as long as a check, and the quartiles of the rounds. CPU: '
    'milliseconds a call. The '
    "client's encoding is inside the clock."
)


@contextlib.contextmanager
def _contenders(bus: servers.Bus, processes: int) -> Iterator[Mapping[str, Contender]]:
    """Start workers and echoes together, each on its own topic."""
    with contextlib.ExitStack() as stack:
        found = {}
        for name, settings in ((CHECK, servers.QUIET), (NOTIFIED, servers.NOTIFIES)):
            worker = stack.enter_context(servers.worker(bus.url, processes, settings))
            client = stack.enter_context(
                contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S))
            )
            found[name] = Contender(client.policy_check, worker.children(), bus.pids)
        for kind in echoes.KINDS:
            topic = f'echo-{kind}-{processes}-{next(_numbers)}'
            pids = stack.enter_context(servers.echo(kind, bus.url, [topic], processes))
            found[NAMES[kind]] = Contender(
                stack.enter_context(echoes.client(kind, bus.url, topic)), pids, bus.pids
            )
        yield found


def _by_callers(
    contenders: Mapping[str, Contender],
    nodes: int,
    effort: Effort,
    numbers: Sequence[int],
) -> dict[int, Samples]:
    """Return number of callers -> samples."""
    found = {}
    for callers in numbers:
        print(f'  {nodes} nodes, {callers} callers', file=sys.stderr)
        few = nodes == NODES[-1] and callers > 1  # a round takes a minute
        rounds = min(effort.rounds, FEW_ROUNDS) if few else effort.rounds
        found[callers] = compare(contenders, shrinking(nodes), callers, rounds, effort.seconds)
    return found


def _p50(samples: Sequence[Sample]) -> list[float]:
    return [statistics.median(sample.latencies) for sample in samples]


def _row(all_samples: Samples, name: str) -> dict[str, Any]:
    samples = all_samples[name]
    latencies = sorted(took for sample in samples for took in sample.latencies)
    calls = len(latencies)
    return {
        'calls': calls,
        'calls/s': statistics.median(_rates(samples)),
        'p50 ms': statistics.median(_p50(samples)) * 1000,
        'p99 ms': latencies[min(calls - 1, calls * 99 // 100)] * 1000,
        'p50/check': str(ratio(_p50(samples), _p50(all_samples[CHECK]))),
        **cpu_row(samples),
    }


def _bars(processes: int, nodes: int, measured: Mapping[int, Samples]) -> list[Bar]:
    """Return the bars for which this number of processes was measured."""
    bars = []
    if processes == 1:
        samples = measured[1]
        for limited, what, other, limit in P50_BARS:
            if limited == nodes:
                times = ratio(_p50(samples[what]), _p50(samples[other]))
                bars.append(Bar(f'p50 of {what} / {other}, {nodes} nodes', times.mid, limit))
    return bars


def _rates(samples: Sequence[Sample]) -> list[float]:
    return [sample.rate for sample in samples]
