"""The greedy rule of Senlin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.errors import NoFeasiblePlan
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.planning.places import Held, Place
from placement_worker.planning.sizing import Size
from placement_worker.simulation import greedy
from placement_worker.simulation.run import play
from tests.factories import region_policy, request, spreading, zone_policy
from tests.unit.simulation.conftest import held


def plan(kind, count, weights, current=(), caps=()):
    """Return the change of each place."""
    caps = caps or [-1] * len(weights)
    places = [
        Place(str(i), weight, cap)
        for i, (weight, cap) in enumerate(zip(weights, caps, strict=True))
    ]
    located = {str(i): count for i, count in enumerate(current)}
    return [row.planned for row in greedy.plan_for(Size(kind, count), places, Held([located])).rows]


@pytest.mark.parametrize(
    ('count', 'weights', 'current', 'grown'),
    [
        (4, [1, 1, 1], [], [2, 2, 0]),
        (3, [1, 1, 1], [], [1, 1, 1]),
        (5, [1, 3], [], [1, 4]),
        (2, [1, 1], [5, 0], [0, 2]),
    ],
)
def test_plan_for_growth_fills_the_place_of_highest_weight_first(count, weights, current, grown):
    """Growth fills the place with the highest weight up to its share, rounded up."""
    assert plan(CREATION, count, weights, current) == grown


@pytest.mark.parametrize(
    ('count', 'weights', 'current', 'gone'),
    [(2, [1, 1, 1], [2, 2, 2], [1, 1, 0]), (3, [3, 1], [6, 4], [0, 3])],
)
def test_plan_for_shrinkage_empties_the_place_of_lowest_weight_first(count, weights, current, gone):
    """Shrinkage empties the place with the lowest weight down to its share, rounded down."""
    assert plan(DELETION, count, weights, current) == gone


def test_plan_for_growth_beyond_a_cap_fails():
    """A cap fails the plan even if other places have room."""
    with pytest.raises(NoFeasiblePlan, match='no feasible plan'):
        plan(CREATION, 6, [1, 1], caps=[2, -1])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 40))
def test_plan_for_an_empty_cluster_without_caps_places_all_nodes(weights, count):
    """Without caps an empty cluster grows by the whole count."""
    assert sum(plan(CREATION, count, weights)) == count


def test_registry_refuses_no_plan_because_of_its_skew(registry):
    """Senlin's rule does not know `spread`, and so it cannot refuse a plan."""
    policies = [
        spreading(region_policy('R1', 'R2'), mode='strict'),
        spreading(zone_policy('a', 'b'), mode='strict'),
    ]
    asked = request('CLUSTER_SCALE_OUT', policies, inputs={'count': 6})
    cloud = Inventory.parse({'regions': {'R1': {'zones': {'a': True, 'b': False}}}}, 'test')

    reply = Endpoints(cloud, greedy.registry(registry)).policy_check(asked)

    assert reply['action']['data']['creation']['places'] == [
        {'region_name': 'R1', 'zone': 'a', 'count': 6}
    ]


def test_registry_replaces_the_rule_of_the_placement_policies(load, registry):
    """The real chain decides by the greedy rule."""
    scenario = load([{'scale_out': 4}])

    (_, worker), (_, other) = (
        list(play(scenario, rule)) for rule in (registry, greedy.registry(registry))
    )

    assert held(worker) == {'a': 2, 'b': 1, 'c': 1}
    assert held(other) == {'a': 2, 'b': 2, 'c': 0}
