"""The time of a check in one process, and the share of each stage."""

import gc
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import msgspec

from benchmarks.clusters import CLOUD, encoded, shrinking
from benchmarks.pairing import Effort, Spread, ratio
from benchmarks.results import Bar, Result, Table
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec, strict_json
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry

NODES = (10, 100, 1000, 10_000, 100_000)
BARS = {10_000: 2.0, 100_000: 1.7}
"""The maximum ratio to the time in which msgspec decodes the request and frees it."""
STAGES = ('decode', 'region', 'zone', 'deletion', 'encode')
SLICE_NODES = 10_000  # nodes of all checks in a slice together


def run(effort: Effort) -> Result:
    """Measure each size in a process of its own.

    In the scattered memory that a larger request has freed, a check of 10,000 nodes takes a tenth
    longer, and msgspec does not.
    """
    found = {}
    for nodes in BARS if effort.bars_only else NODES:
        with ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as process:
            found[nodes] = process.submit(_runs, nodes, effort.rounds).result()
    rows = [_row(nodes, runs) for nodes, runs in found.items()]
    bars = [
        Bar(f'check in process / msgspec, {nodes} nodes', _of_msgspec(found[nodes]).mid, limit)
        for nodes, limit in BARS.items()
    ]
    note = (
        'CPU time of a CLUSTER_SCALE_IN by a tenth under region placement, zone placement and '
        'deletion (OLDEST_FIRST), JSON string to JSON string; stages in per cent. The rest is '
        'freeing the request and building the reply. of msgspec: ratio to the time in which '
        'msgspec decodes the request to the same types and frees it.'
    )
    return Result([Table('A check in process', rows, note)], bars)


def _runs(nodes: int, rounds: int) -> list[dict[str, float]]:
    """Return the measurements of one size."""
    gc.freeze()
    endpoints = Endpoints(
        Inventory.parse(CLOUD, 'the cloud'), Registry.installed(), clock=time.thread_time
    )
    check = _check(endpoints, encoded(shrinking(nodes)), nodes)
    return [check() for _ in range(rounds)]


def _of_msgspec(runs: Sequence[Mapping[str, float]]) -> Spread:
    return ratio([one['whole'] for one in runs], [one['msgspec'] for one in runs])


def _check(endpoints: Endpoints, asked: str, nodes: int) -> Any:
    count = max(1, SLICE_NODES // nodes)
    decoder = msgspec.json.Decoder(CheckRequest)

    def check() -> dict[str, float]:
        """Return the milliseconds of each stage, of the whole check, and of msgspec alone."""
        took = dict.fromkeys(STAGES, 0.0)
        spans = {'whole': 0.0, 'msgspec': 0.0}
        answers = []
        for what in ('whole', 'msgspec', 'msgspec', 'whole'):  # the first one finds cold caches
            began = time.thread_time()
            for _ in range(count):
                if what == 'whole':
                    answers.append(endpoints.policy_check(asked))
                else:
                    decoder.decode(asked)  # and frees the result
            spans[what] += (time.thread_time() - began) * 1000 / count / 2
        replies = [msgspec.json.decode(answer, type=CheckReply) for answer in answers]
        for reply in replies:
            for stage, decision in zip(STAGES[1:-1], reply.decisions, strict=True):
                took[stage] += decision.elapsed_ms / len(replies)
        took['decode'] = _ms(lambda: strict_json.decode(asked, CheckRequest), count)
        took['encode'] = _ms(lambda: codec.encode(replies[0], like=asked), count)
        return {**took, **spans}

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


def _row(nodes: int, runs: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    whole = Spread.of([one['whole'] for one in runs])
    shares = {
        f'{stage} %': Spread.of([one[stage] / one['whole'] * 100 for one in runs]).mid
        for stage in STAGES
    }
    rest = 100 - sum(shares.values())
    return {
        'nodes': nodes,
        'ms': str(whole),
        'of msgspec': str(_of_msgspec(runs)),
        'us a node': whole.mid * 1000 / nodes,
        **shares,
        'rest %': rest,
    }
