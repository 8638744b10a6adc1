"""The number of nodes that leave each place, read from the plans of placement policies."""

import pytest

from placement_worker.contract.action_data import Deletion
from placement_worker.errors import InvalidInput
from placement_worker.planning.removal_counts import RemovalCounts
from placement_worker.planning.victims import UNKNOWN

BOTH = [
    {'region_name': 'R1', 'zone': 'a', 'count': 1},
    {'region_name': 'R2', 'count': 2},
]


def read(count=9, **deletion):
    """Return the removal counts of a decided deletion."""
    return RemovalCounts.of(Deletion(deletion), count)


@pytest.mark.parametrize(
    ('deletion', 'expected'),
    [
        ({}, None),
        ({'zones': {'a': 1}}, {('a',): 1}),
        ({'zone': {'a': 1}}, {('a',): 1}),
        ({'regions': {'R1': 1}, 'zones': {'a': 1}}, {('R1',): 1}),
        ({'places': BOTH}, {('R1', 'a'): 1, ('R2',): 2}),
        (
            {'places': BOTH, 'regions': {'R1': 3, 'R2': 2}},
            {('R1', 'a'): 1, ('R1',): 2, ('R2',): 2},
        ),
        ({'places': []}, {}),
    ],
    ids=[
        'no plan',
        'by zone',
        'the singular key',
        'regions take precedence over zones',
        'by region and zone',
        'the rest of a region belongs to its nodes of unknown zone',
        'an empty plan',
    ],
)
def test_removal_counts_are_those_of_the_most_precise_plan(deletion, expected):
    """`places` take precedence over `regions`, and these over `zones`."""
    assert read(**deletion).by_location == expected


def test_removal_counts_beyond_the_size_are_refused():
    """A plan for more nodes than the action deletes raises an error that names its path."""
    with pytest.raises(
        InvalidInput, match=r'at most 2 nodes, got one for 3 - at `\$\.action\.data\.deletion`'
    ):
        read(2, zones={'a': 3})


@pytest.mark.parametrize(
    ('deletion', 'expected'),
    [
        ({'zones': {}}, [('z',), ('z',), UNKNOWN]),
        ({'regions': {}}, [('R1',), ('R2',), ('R1',)]),
        ({'places': BOTH}, [('R1', 'z'), ('R2',), ('R1',)]),
    ],
)
def test_location_of_a_node_has_the_precision_of_the_plan(deletion, expected):
    """A node belongs to its zone, its region or both; an undivided region is one location."""
    counts = read(**deletion)

    located = [counts.location(*place) for place in [('R1', 'z'), ('R2', 'z'), ('R1', None)]]

    assert located == expected
    assert counts.location(None, None) == UNKNOWN


def test_unknown_locations_are_those_without_a_zone_in_a_divided_region():
    """The rest of a divided region is unknown; an undivided region is a location of its own."""
    counts = read(places=BOTH, regions={'R1': 3, 'R2': 2})

    assert counts.unknown == {UNKNOWN, ('R1',)}
    assert read(zones={'a': 1}).unknown == {UNKNOWN}
