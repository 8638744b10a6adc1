"""The evaluation of measurements by the benchmarks."""

import pytest

from benchmarks.counts.count import Count, verdict
from benchmarks.tables import Table


@pytest.mark.parametrize(
    ('count', 'message'),
    [
        (Count('frames', 2), ''),
        (Count('frames', 1), ''),
        (Count('frames', 3), 'is more than 2'),
        (Count('instructions', 109, tolerance=0.1), ''),
        (Count('instructions', 111, tolerance=0.1), 'is more than 110'),
        (Count('requests', 0), 'is not written down'),
    ],
)
def test_verdict_accepts_a_count_within_its_tolerance(count, message):
    """A count beyond the recorded value and its tolerance fails."""
    assert verdict(count, {'frames': 2, 'instructions': 100}) == message


def test_text_of_results_is_a_table_of_restructuredtext():
    """Results can be copied into the manual."""
    table = Table('Echo', [{'nodes': 3, 'p50 ms': 1.23456}, {'nodes': 10_000, 'p50 ms': None}])

    assert str(table).splitlines() == [
        'Echo',
        '----',
        '',
        '=====  ======',
        'nodes  p50 ms',
        '=====  ======',
        '    3    1.23',
        '10000       -',
        '=====  ======',
    ]
