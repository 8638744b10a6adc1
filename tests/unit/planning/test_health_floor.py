"""Tests for the health floor: how many nodes can leave a pool."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.health_floor import Floor, kept, reached

POOL = 'p1'


@pytest.mark.parametrize(
    ('min_online', 'members', 'required'),
    [
        ('3', 5, 3),
        ('60 %', 5, 3),
        ('61%', 5, 4),
        ('33.3%', 1000, 333),
        ('33.31%', 1000, 334),
        ('29%', 100, 29),
        ('50%', 0, 0),
    ],
)
def test_required_of_a_percentage_is_rounded_up_exactly(min_online, members, required):
    """A percentage of the members before the removal is rounded up, without binary fractions."""
    assert Floor(POOL, min_online, members, 0).required == required


@pytest.mark.parametrize(
    ('numbers', 'left', 'nodes', 'reason'),
    [
        ((3, 5, 1), 0, 'None of 3 nodes', '3 of its 5 members must stay online, and 1 is'),
        ((1, 1, 1), 0, 'None of 3 nodes', '1 of its 1 member must stay online, and 1 is'),
        ((9, 5, 5), 0, 'None of 3 nodes', '9 members must stay online, but it has 5'),
    ],
)
def test_explanation_names_the_pool_and_all_numbers(numbers, left, nodes, reason):
    """The sentence has the numbers asked for, possible, required and online."""
    sentence = Floor(POOL, *numbers).explained(3, left)

    assert sentence == f'{nodes} can leave pool p1: {reason}'


PERCENTAGES = st.integers(0, 100).map(lambda percent: f'{percent}%')
POOLS = st.lists(
    st.tuples(st.integers(0, 8) | PERCENTAGES, st.integers(0, 4), st.lists(st.integers(0, 2))),
    max_size=3,
)


@given(POOLS)
def test_kept_victims_leave_each_pool_at_its_floor_or_as_online_as_before(pools):
    """After any removal the required members are online, or as many as before it.

    No further victim could leave: the choice is maximal.
    """
    count = max((len(leaving) for _, _, leaving in pools), default=3)
    victims = [f'n{i}' for i in range(count)]
    floors = []
    for number, (min_online, others, leaving) in enumerate(pools):
        by_node = {f'n{i}': online for i, online in enumerate(leaving)}
        online = others + sum(leaving)
        floors.append(Floor(f'p{number}', min_online, online + 2, online, by_node))

    left = kept(victims, floors)

    for spared in [None, *(victim for victim in victims if victim not in left)]:
        chosen = [*left, *([spared] if spared else [])]
        fits = all(_fits(floor, chosen) for floor in floors)
        assert fits == (spared is None)
    assert (reached(victims, floors) is None) == (left == victims)
    assert left == [victim for victim in victims if victim in left]


def _fits(floor, chosen):
    """Return whether a removal leaves enough members online, by the definition of the floor."""
    gone = sum(floor.leaving.get(victim, 0) for victim in chosen)
    share = floor.min_online
    if isinstance(share, str):
        share = -(-int(share.rstrip('%')) * floor.members // 100)
    assert floor.required == share == math.ceil(share)
    return not gone or floor.online - gone >= share
