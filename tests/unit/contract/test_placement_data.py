"""The view of a placement."""

import pytest

from placement_worker.contract.placement_data import Placement


@pytest.mark.parametrize(
    ('before', 'place', 'after'),
    [
        (None, {'zone': 'a'}, {'zone': 'a'}),
        ('x', {'zone': 'a'}, {'zone': 'a'}),
        ({'zone': 'b', 'group': 'g'}, {'zone': 'a'}, {'zone': 'a', 'group': 'g'}),
        ({'zone': 'b', 'group': 'g'}, {'region_name': 'R1'}, {'region_name': 'R1', 'group': 'g'}),
    ],
)
def test_moved_placement_drops_the_zone_of_another_region(before, place, after):
    """A move keeps unknown keys; a zone without its region would be wrong."""
    assert Placement.of(before).moved(place) == after
    assert Placement.of(after).is_at(place)
    assert not Placement.of(before).is_at(place)


@pytest.mark.parametrize(
    ('before', 'after'),
    [
        (None, {'count': 2, 'placements': [{'zone': 'a'}, {'zone': 'b'}]}),
        ({'placements': 'x'}, {'count': 2, 'placements': [{'zone': 'a'}, {'zone': 'b'}]}),
        (
            {'mark': 1, 'placements': [{'group': 'g'}, 3, {'zone': 'c'}]},
            {'mark': 1, 'count': 2, 'placements': [{'group': 'g', 'zone': 'a'}, {'zone': 'b'}]},
        ),
    ],
)
def test_placement_with_entries_has_one_per_place(before, after):
    """There is one entry per new node; unknown keys of earlier entries stay."""
    placement = Placement.of(before)

    assert placement.with_entries([{'zone': 'a'}, {'zone': 'b'}]) == after
