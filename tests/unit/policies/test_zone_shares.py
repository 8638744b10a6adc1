"""The forms of regions' shares in data and details."""

from collections import Counter

import pytest

from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.planning.placement import grow, shrink
from placement_worker.planning.places import Place
from placement_worker.planning.sizing import Size
from placement_worker.policies import zone_shares
from placement_worker.policies.zone_shares import Share

PLANNED = Share('R1', Size(CREATION, 3), 1, grow([Place('a'), Place('b')], {'a': 1}, 3))
ALONE = Share(None, PLANNED.size, PLANNED.held, PLANNED.plan)
WHOLE = Share('R2', Size(CREATION, 1), 4, None)


def test_groups_by_region_keep_their_order():
    """Each region has one counter per group; a region without nodes has empty ones."""
    groups = [Counter({('R1', 'a'): 1}), Counter({('R2', None): 2, ('R1', 'a'): 3})]

    found = zone_shares.by_region(groups)

    assert found['R1'] == [{'a': 1}, {'a': 3}]
    assert found['R2'] == [{}, {None: 2}]
    assert found['R9'] == [{}, {}]


def test_places_of_a_region_without_usable_zone_have_no_zone():
    """A planned region has an entry per zone that changes; any other has one entry."""
    assert zone_shares.places([PLANNED, WHOLE]) == [
        {'region_name': 'R1', 'zone': 'a', 'count': 1},
        {'region_name': 'R1', 'zone': 'b', 'count': 2},
        {'region_name': 'R2', 'count': 1},
    ]


@pytest.mark.parametrize(
    ('share', 'expected'),
    [
        (ALONE, [(None, 'a', 2), (None, 'b', 2)]),
        (PLANNED, [('R1', 'a', 2), ('R1', 'b', 2)]),
        (WHOLE, [('R2', '-', 5)]),
        (Share('R2', Size(DELETION, 1), 4, None), [('R2', '-', 3)]),
    ],
)
def test_rows_name_the_region_if_one_is_planned(share, expected):
    """Each row has zone and final count; a region without usable zones has one row."""
    rows = zone_shares.details([share])['zones']

    assert [(row.get('region_name'), row['name'], row['final']) for row in rows] == expected


def test_details_of_several_regions_hold_the_rows_of_all():
    """The rows of regions follow each other, and their unplaced nodes are added up."""
    leaving = shrink([Place('a')], [{'a': 1, None: 2}], 3)
    shares = [WHOLE, Share('R1', Size(DELETION, 3), 3, leaving)]

    details = zone_shares.details(shares)

    assert [row['region_name'] for row in details['zones']] == ['R2', 'R1']
    assert details['unplaced'] == 2


def test_counts_of_several_regions_are_added_up_by_zone():
    """A zone name counts once for all regions; zones without a change are left out."""
    idle = Share('R2', Size(CREATION, 1), 0, grow([Place('a'), Place('c')], {'a': 1}, 1))

    assert zone_shares.counts([PLANNED, idle, WHOLE]) == {'a': 1, 'b': 2, 'c': 1}


def test_entries_are_interleaved_over_regions():
    """There is one entry per node; the shares of regions and zones are interleaved."""
    assert zone_shares.entries([PLANNED, WHOLE]) == [
        {'region_name': 'R1', 'zone': 'b'},
        {'region_name': 'R1', 'zone': 'a'},
        {'region_name': 'R1', 'zone': 'b'},
        {'region_name': 'R2'},
    ]
    assert zone_shares.entries([ALONE])[0] == {'zone': 'b'}
