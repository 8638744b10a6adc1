"""Places and the nodes in them."""

import pytest

from placement_worker.planning.cordon import Cordon
from placement_worker.planning.places import Place, total
from placement_worker.planning.shortage import Shortage
from tests.factories import NOW


@pytest.mark.parametrize(
    ('place', 'obstacle'),
    [
        (Place('a'), ''),
        (Place('a', available=False), 'unavailable'),
        (Place('a', available=False, note='no usable zone'), 'no usable zone'),
        (Place('a', known=False, available=False), 'unknown to the cloud'),
        (Place('a', shortage=Shortage(1, NOW, 1)), 'short of capacity: one probe'),
        (Place('a', available=False, shortage=Shortage(1, NOW, 1)), 'unavailable'),
    ],
)
def test_obstacle_of_a_place_says_why_no_node_can_be_created_there(place, obstacle):
    """A place with room has no obstacle; another one is unavailable, unknown or short of it."""
    assert place.obstacle == obstacle


@pytest.mark.parametrize('evacuate', [True, False])
def test_cordoned_place_takes_no_node_and_is_evacuated_if_a_cordon_says_so(evacuate):
    """A cordon makes a place unavailable; only `evacuate` lets its nodes leave first."""
    cordon = Cordon(zone='a', until=NOW, evacuate=evacuate)
    place = Place('a').cordoned(cordon)

    assert (place.available, place.obstacle, place.evacuated) == (False, cordon.note, evacuate)


def test_total_of_groups_adds_the_nodes_of_each_place():
    """Nodes of all groups count, also those of unknown place; a missing place has none."""
    found = total([{'a': 2, None: 1}, {'a': 1, 'b': 3}])

    assert found == {'a': 3, 'b': 3, None: 1}
    assert found['c'] == 0
