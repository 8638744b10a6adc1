"""The page about capacity, against the model and the measured costs."""

import re
from pathlib import Path

from prometheus_client import generate_latest

from benchmarks import capacity
from tests.unit.test_monitoring import filled

PAGE = Path(__file__).parents[3] / 'doc' / 'source' / 'capacity.rst'


def test_costs_of_the_page_are_those_of_the_model():
    """The table of the page is what the model makes of the measured costs."""
    table, *_ = capacity.tables(capacity.MEASURED)
    grid = re.sub(r'\A[^=]*', '', str(table))

    assert grid in PAGE.read_text(encoding='utf-8')


def test_example_of_the_page_follows_from_the_costs():
    """A reader who does the example with a calculator gets the numbers of the page."""
    page = ' '.join(PAGE.read_text(encoding='utf-8').split())
    cost = capacity.MEASURED[200]

    by_cpu, by_waits, by_broker = (
        re.search(rf'83 \S {factor} \S {divisor} = ([\d.]+)', page).group(1)
        for factor, divisor in (
            (f'{cost.worker_ms:.1f}', '700'),
            ('0.2', r'\(0.7 \S 8\)'),
            (f'{cost.broker_ms:.1f}', '700'),
        )
    )

    assert [by_cpu, by_waits, by_broker] == [
        f'{83 * round(cost.worker_ms, 1) / 700:.2f}',
        f'{83 * capacity.CLOUD_S / (capacity.USE * capacity.THREADS):.2f}',
        f'{83 * round(cost.broker_ms, 1) / 700:.2f}',
    ]


def test_metrics_of_the_page_exist():
    """The expressions and commands of the page find what a worker serves."""
    served = generate_latest(filled()).decode()

    named = set(re.findall(r'placement_worker_\w+', PAGE.read_text(encoding='utf-8')))

    assert named
    assert [name for name in named if name not in served] == []


def test_rates_beyond_one_process_are_carried_by_more():
    """Processes are busy for 70 percent of the time at most."""
    cost = capacity.Cost(worker_ms=2.0, broker_ms=4.0, leader_ms=0.2, written_kib=10)

    needed = capacity.row(1_000_000, 6, cost)

    assert (needed['processes'], needed['cores']) == (5, 10)
    assert capacity.queue(1667, cost).use <= 0.7
