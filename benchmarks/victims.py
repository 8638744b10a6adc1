"""The time of victim selection: 10 % and 50 % of 100 to 1,000,000 nodes, by each criterion."""

from collections import defaultdict
from typing import get_args

import msgspec

from benchmarks.clusters import member
from benchmarks.pairing import Effort, Took, cpu_ms, interleaved, timed
from benchmarks.results import Result, Table
from placement_worker.contract.cluster import Node
from placement_worker.planning import victims

NODES = (100, 1000, 10_000, 100_000, 1_000_000)
QUICK_NODES = NODES[:-1]
SHARES = (10, 50)
SLICE_S = 0.02
FEWER_ROUNDS = 100_000  # from this number of nodes on, three rounds suffice


def run(effort: Effort) -> Result:
    """Measure the criteria in turns, each with a plan for six places."""
    rows = []
    for count in QUICK_NODES if effort.quick else NODES:
        nodes = msgspec.convert([member(number) for number in range(count)], list[Node])
        rounds = 3 if count > FEWER_ROUNDS else effort.rounds
        for share in SHARES:
            contenders = {
                criteria: lambda criteria=criteria, share=share, nodes=nodes: _timed(
                    nodes, share, criteria
                )
                for criteria in get_args(victims.Criteria)
            }
            found = interleaved(contenders, rounds)
            figures = {
                f'{criteria.lower()} ms': cpu_ms(runs).mid for criteria, runs in found.items()
            }
            rows.append({'nodes': count, 'victims': f'{share} %', **figures})
    return Result(
        [Table('Victims', rows, 'CPU time: nodes grouped by region and zone, ordered and chosen.')]
    )


def _timed(nodes: list[Node], share: int, criteria: victims.Criteria) -> Took:
    wanted = len(nodes) * share // 100
    places = sorted({_place(node) for node in nodes[:6]})
    removal_counts = dict.fromkeys(places, wanted // len(places))

    def choose() -> object:
        held = defaultdict(list)
        for node in nodes:
            held[_place(node)].append(node)
        return victims.choose(
            (),
            sum(removal_counts.values()),
            removal_counts,
            lambda place, count: victims.order(held[place], criteria, 'seed', count=count),
        )

    return timed(choose, SLICE_S)


def _place(node: Node) -> victims.Location:
    placement = node.data['placement']
    return placement['region_name'], placement['zone']
