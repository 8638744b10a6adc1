"""The evaluation of measurements by the benchmarks."""

import pytest

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
