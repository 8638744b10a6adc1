"""The part of a cloud that keeps nodes."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.planning.cordon import Cordon
from placement_worker.simulation import kept_places
from tests.factories import NOW

SHARED = {'zones': {'a': True, 'b': True}, 'regions': ['R1', 'R2'], 'home_region': 'R1'}
OWN = {'regions': {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'a': True, 'b': True}}}}


def kept(cloud, **own):
    """Return the usable zones of each region while a place is evacuated."""
    cordons = [Cordon(until=NOW, evacuate=True, **own)]
    found = kept_places.of(Inventory.parse(cloud, 'test'), cordons)
    return {
        region: sorted(name for name, usable in found.zones(region).items() if usable)
        for region in sorted(found.regions())
    }


@pytest.mark.parametrize(
    ('cloud', 'own', 'expected'),
    [
        (SHARED, {'zone': 'a'}, {'R1': ['b'], 'R2': ['b']}),
        (SHARED, {'zone': 'a', 'region': 'R2'}, {'R1': ['a', 'b'], 'R2': ['b']}),
        (SHARED, {'region': 'R2'}, {'R1': ['a', 'b']}),
        (OWN, {'zone': 'a'}, {'R1': [], 'R2': ['b']}),
        (OWN, {'zone': 'b', 'region': 'R1'}, {'R1': ['a'], 'R2': ['a', 'b']}),
    ],
)
def test_evacuated_places_are_not_usable(cloud, own, expected):
    """A cordon covers its zone in each region, its region, or its zone in one region."""
    assert kept(cloud, **own) == expected


def test_place_with_a_cordon_that_does_not_evacuate_keeps_its_nodes():
    """Such a place keeps its share, so the cloud stays the same."""
    cloud = Inventory.parse(SHARED, 'test')

    assert kept_places.of(cloud, [Cordon(zone='a', until=NOW)]) is cloud
