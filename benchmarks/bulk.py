"""Checks over RabbitMQ in a message each, compared with several checks in one message."""

import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from benchmarks import echoes, servers
from benchmarks.clusters import shrinking
from benchmarks.pairing import Effort, interleaved, ratio
from benchmarks.results import Bar, Result, Table
from placement_worker.client.rpc_client import PolicyClient

NODES = (3, 200)
CALLERS = (1, 32)
PROCESSES = (1, 2)
CHECKS = (10, 100)
ALONE = 1
BARS = {(3, 10): 0.5, (3, 100): 0.5, (200, 10): 0.85}
"""Nodes and checks per message -> the maximum ratio of the checks per second of single messages."""
BARS_AT = (2, 32)
"""The numbers of processes and of callers for `BARS`."""
FEW_ROUNDS = 5
NOTE = (
    'Checks per second of all callers. Ratios: how many times as many as with a message per '
    'check, and the quartiles of the rounds.'
)

Rates = Mapping[int, Sequence[float]]
"""Checks per message -> the checks per second of each round."""


def run(effort: Effort) -> Result:
    """Measure all numbers of nodes, callers, worker processes and checks per message."""
    result = Result()
    rows = []
    with servers.bus() as bus:
        for processes in BARS_AT[:1] if effort.bars_only or effort.quick else PROCESSES:
            with (
                servers.worker(bus.url, processes) as worker,
                contextlib.closing(worker.client(timeout_s=echoes.TIMEOUT_S)) as client,
            ):
                for nodes in NODES:
                    for callers in BARS_AT[1:] if effort.bars_only else CALLERS:
                        rates = _rates(client, nodes, callers, effort)
                        about = {'nodes': nodes, 'processes': processes, 'callers': callers}
                        rows.append({**about, **_row(rates)})
                        if (processes, callers) == BARS_AT:
                            result.bars += _bars(nodes, rates)
    result.tables.append(Table('Several checks in one message', rows, NOTE))
    return result


def _rates(client: PolicyClient, nodes: int, callers: int, effort: Effort) -> Rates:
    print(f'  {nodes} nodes, {callers} callers', file=sys.stderr)
    asked = shrinking(nodes)
    with ThreadPoolExecutor(callers) as pool:
        contenders: dict[str, Callable[[], float]] = {
            str(ALONE): partial(
                _rate, pool, callers, effort.seconds, ALONE, partial(client.policy_check, asked)
            )
        }
        for checks in CHECKS:
            call = partial(client.policy_check_many, [asked] * checks)
            contenders[str(checks)] = partial(_rate, pool, callers, effort.seconds, checks, call)
        contenders[str(ALONE)]()  # connect before the measurement
        found = interleaved(contenders, min(effort.rounds, FEW_ROUNDS))
    return {int(checks): rates for checks, rates in found.items()}


def _rate(
    pool: ThreadPoolExecutor, callers: int, seconds: float, checks: int, call: Callable[[], Any]
) -> float:
    """Return the checks per second until the last caller has its last reply."""
    began = time.perf_counter()

    def calls(_: int) -> int:
        count = 0
        while not count or time.perf_counter() - began < seconds:
            call()
            count += checks
        return count

    return sum(pool.map(calls, range(callers))) / (time.perf_counter() - began)


def _row(rates: Rates) -> dict[str, Any]:
    alone = rates[ALONE]
    ratios = {f'{checks} / alone': str(ratio(rates[checks], alone)) for checks in CHECKS}
    return {'checks/s alone': statistics.median(alone), **ratios}


def _bars(nodes: int, rates: Rates) -> list[Bar]:
    return [
        Bar(
            f'checks/s of {checks} messages / one message, {nodes} nodes, {BARS_AT[1]} callers',
            ratio(rates[ALONE], rates[checks]).mid,
            limit,
        )
        for (limited, checks), limit in BARS.items()
        if limited == nodes
    ]
