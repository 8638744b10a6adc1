"""The greedy rule does what Senlin publishes, with the faults that ours does not have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import Place
from placement_worker.planning.sizing import Size
from placement_worker.simulation import greedy
from placement_worker.simulation.run import play
from tests.unit.simulation.conftest import held


def plan(kind, count, weights, current=(), caps=()):
    """The change of each place."""
    caps = caps or [-1] * len(weights)
    places = [
        Place(str(i), weight, cap)
        for i, (weight, cap) in enumerate(zip(weights, caps, strict=True))
    ]
    located = {str(i): count for i, count in enumerate(current)}
    return [row.planned for row in greedy.plan_for(Size(kind, count), places, [located]).rows]


@pytest.mark.parametrize(
    ('count', 'weights', 'current', 'grown'),
    [
        (4, [1, 1, 1], [], [2, 2, 0]),
        (3, [1, 1, 1], [], [1, 1, 1]),
        (5, [1, 3], [], [1, 4]),
        (2, [1, 1], [5, 0], [0, 2]),
    ],
)
def test_growing_fills_the_heaviest_first_up_to_the_share_rounded_up(
    count, weights, current, grown
):
    assert plan(CREATION, count, weights, current) == grown


@pytest.mark.parametrize(
    ('count', 'weights', 'current', 'gone'),
    [(2, [1, 1, 1], [2, 2, 2], [1, 1, 0]), (3, [3, 1], [6, 4], [0, 3])],
)
def test_shrinking_empties_the_lightest_first_down_to_the_share_rounded_down(
    count, weights, current, gone
):
    assert plan(DELETION, count, weights, current) == gone


def test_what_a_cap_keeps_out_fails_the_plan_though_others_had_room():
    with pytest.raises(NoFeasiblePlan, match='no feasible plan'):
        plan(CREATION, 6, [1, 1], caps=[2, -1])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 40))
def test_without_caps_and_nodes_all_are_placed(weights, count):
    assert sum(plan(CREATION, count, weights)) == count


def test_it_runs_through_the_real_chain_in_place_of_ours(load, registry):
    scenario = load([{'scale_out': 4}])

    (_, ours), (_, other) = (
        list(play(scenario, rule)) for rule in (registry, greedy.registry(registry))
    )

    assert held(ours) == {'a': 2, 'b': 1, 'c': 1}
    assert held(other) == {'a': 2, 'b': 2, 'c': 0}
