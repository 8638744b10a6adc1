"""The evaluation of measurements by the benchmarks."""

import pytest

from benchmarks import pairing, results
from benchmarks.counts.count import Count, verdict


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


def test_interleaved_contenders_take_turns_and_each_begins_a_round():
    """A slow phase of the machine affects all contenders alike."""
    ran = []
    contenders = {name: lambda name=name: ran.append(name) or len(ran) for name in 'abc'}

    found = pairing.interleaved(contenders, 3)

    assert ''.join(ran) == 'abcbcacab'
    assert found == {'a': [1, 6, 8], 'b': [2, 4, 9], 'c': [3, 5, 7]}


def test_ratio_is_the_median_of_the_rounds():
    """One disturbed round does not change the ratio."""
    spread = pairing.ratio([1.0, 2.0, 30.0, 4.0, 5.0], [1.0, 2.0, 3.0, 4.0, 5.0])

    assert (spread.low, spread.mid, spread.high) == (1.0, 1.0, 1.0)


def test_text_of_results_is_a_table_of_restructuredtext():
    """Results can be copied into the manual."""
    table = results.Table(
        'Echo', [{'nodes': 3, 'p50 ms': 1.23456}, {'nodes': 10_000, 'p50 ms': None}], 'By hand.'
    )

    assert results.text(table).splitlines() == [
        'Echo',
        '----',
        'By hand.',
        '',
        '=====  ======',
        'nodes  p50 ms',
        '=====  ======',
        '    3    1.23',
        '10000       -',
        '=====  ======',
    ]


def test_bars_text_marks_missed_bars():
    """A reader sees which goals a run missed."""
    met, missed = results.Bar('a plan', 2.0, 3.0, 'ms'), results.Bar('a check', 36.0, 35.0, 'ms')

    assert (met.met, missed.met) == (True, False)
    assert results.bars_text([met, missed]).splitlines() == [
        'met     a plan: 2 (at most 3) ms',
        'MISSED  a check: 36 (at most 35) ms',
    ]
