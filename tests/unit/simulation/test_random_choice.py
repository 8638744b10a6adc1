"""Random choices that a seed repeats."""

import pytest

from placement_worker.simulation.random_choice import sample

IDS = [f'n{number}' for number in range(20)]


@pytest.mark.parametrize(
    ('count', 'chosen'),
    [(3, 3), (99, 20), ('50 %', 10), ('7%', 1), ('8%', 2), ('1%', 1), ('0%', 0)],
)
def test_sample_of_a_number_or_a_percentage_returns_as_many_distinct_ids(count, chosen):
    """A percentage is rounded to the nearest number, but a positive one is at least 1."""
    ids = sample(IDS, count, 'seed')

    assert len(set(ids)) == len(ids) == chosen
    assert set(ids) <= set(IDS)


def test_sample_with_the_same_seed_returns_the_same_ids():
    """A seed repeats the choice, and another seed leads to another one."""
    assert sample(IDS, 10, 'seed') == sample(IDS, 10, 'seed') != sample(IDS, 10, 'other')
