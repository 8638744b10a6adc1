"""How long a plan takes: 10 to 1,000,000 nodes over 1 to 1,000 places, growing and shrinking.

    python -m benchmarks.planning

Prints the median of several runs in milliseconds, and how often it contains the plan of ten nodes over as many places:
the cost follows the places, not the nodes.
"""

import statistics
import time
from collections.abc import Callable

from placement_worker.planning.placement import Place, grow, shrink

RUNS = 9


def median_ms(plan: Callable[[], object]) -> float:
    """The median time of several runs."""
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        plan()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def measured(places: list[Place], nodes: int) -> tuple[float, float]:
    """How long it takes to place so many nodes, and to take half of them away."""
    held = {row.name: row.final for row in grow(places, {}, nodes).rows}
    return median_ms(lambda: grow(places, {}, nodes)), median_ms(lambda: shrink(places, held, 0, nodes // 2))


def main() -> None:
    """Print a line for each size and number of places."""
    print(f'{"places":>6} {"nodes":>9} {"grow ms":>9} {"ratio":>6} {"shrink ms":>10} {"ratio":>6}')
    for count in (1, 10, 100, 1000):
        places = [Place(f'z{i}', weight=100 + i % 7) for i in range(count)]
        first = measured(places, 10)
        for nodes in (10, 1000, 100_000, 1_000_000):
            grown, shrunk = measured(places, nodes)
            print(f'{count:6} {nodes:9} {grown:9.3f} {grown / first[0]:6.1f} {shrunk:10.3f} {shrunk / first[1]:6.1f}')


if __name__ == '__main__':
    main()
