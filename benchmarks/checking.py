"""The time of a check in one process, and the share of each stage."""

import time
from typing import Any

import msgspec

from benchmarks.clusters import CLOUD, encoded, shrinking
from benchmarks.pairing import Effort, Spread, interleaved
from benchmarks.results import Bar, Result, Table
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec, strict_json
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from placement_worker.worker import garbage_collection

NODES = (10, 100, 1000, 10_000, 100_000)
BARS_MS = {10_000: 35.0, 100_000: 400.0}
BAR_TIMES = 12.0
STAGES = ('decode', 'region', 'zone', 'deletion', 'encode')
SLICE_NODES = 10_000  # nodes of all checks in a slice together


def run(effort: Effort) -> Result:
    """Measure the sizes in turns, so that a disturbance affects all of them."""
    garbage_collection.settle()
    endpoints = Endpoints(
        Inventory.parse(CLOUD, 'the cloud'), Registry.installed(), clock=time.thread_time
    )
    contenders = {nodes: _check(endpoints, encoded(shrinking(nodes)), nodes) for nodes in NODES}
    found = interleaved(contenders, effort.rounds)
    whole = {nodes: Spread.of([one['whole'] for one in found[nodes]]) for nodes in NODES}
    rows = [_row(nodes, whole[nodes], found[nodes]) for nodes in NODES]
    small, large = sorted(BARS_MS)
    times = whole[large].mid / whole[small].mid
    bars = [
        Bar(f'{nodes} nodes in process', whole[nodes].mid, limit, 'ms')
        for nodes, limit in BARS_MS.items()
    ]
    bars.append(Bar(f'{large} nodes, of the time for {small}', times, BAR_TIMES, 'times'))
    note = (
        'CPU time of a CLUSTER_SCALE_IN by a tenth under region placement, zone placement and '
        'deletion '
        '(OLDEST_FIRST), JSON string to JSON string; stages in per cent. The rest is freeing the '
        'request and '
        'building the reply.'
    )
    return Result([Table('A check in process', rows, note)], bars)


def _check(endpoints: Endpoints, asked: str, nodes: int) -> Any:
    count = max(1, SLICE_NODES // nodes)

    def check() -> dict[str, float]:
        """Return the milliseconds of each stage of a check, and of the whole check."""
        took = dict.fromkeys(STAGES, 0.0)
        began = time.thread_time()
        answers = [endpoints.policy_check(asked) for _ in range(count)]
        whole = (time.thread_time() - began) * 1000 / count
        replies = [msgspec.json.decode(answer, type=CheckReply) for answer in answers]
        for reply in replies:
            for stage, decision in zip(STAGES[1:-1], reply.decisions, strict=True):
                took[stage] += decision.elapsed_ms / count
        took['decode'] = _ms(lambda: strict_json.decode(asked, CheckRequest), count)
        took['encode'] = _ms(lambda: codec.encode(replies[0], like=asked), count)
        return {**took, 'whole': whole}

    return check


def _ms(run: Any, count: int) -> float:
    """Return the mean CPU time of a run; its results are freed outside the measurement."""
    took = 0.0
    for _ in range(count):
        began = time.thread_time()
        made = run()
        took += time.thread_time() - began
        del made
    return took * 1000 / count


def _row(nodes: int, whole: Spread, runs: list[dict[str, float]]) -> dict[str, Any]:
    shares = {
        f'{stage} %': Spread.of([one[stage] / one['whole'] * 100 for one in runs]).mid
        for stage in STAGES
    }
    rest = 100 - sum(shares.values())
    return {
        'nodes': nodes,
        'ms': str(whole),
        'us a node': whole.mid * 1000 / nodes,
        **shares,
        'rest %': rest,
    }
