"""Creations while regions are short of capacity, through the chain."""

import pytest

from tests.factories import redistributing, refused, region_policy, spreading, zone_policy
from tests.unit.policies.shortages import UNTIL, created, decide, rows, scale_out


def test_region_short_of_capacity_leaves_its_share_to_the_others():
    """Region placement alone observes the regions of failed nodes, whatever their zones."""
    policy = spreading(redistributing(region_policy(('R1', 300), 'R2')), max_skew=9)
    members = [refused(1, 'a', 'R1')]

    reply = decide(scale_out(3, policy, members=members))

    assert created(reply, 'regions') == {'R2': 3}
    assert rows(reply, 'regions')['R1']['note'] == UNTIL
    assert reply['warnings'] == [f'Region R1 is {UNTIL} (1 failed attempt)']


BOTH = (redistributing(region_policy('R1', 'R2')), redistributing(zone_policy('a', 'b', 'd')))


def test_shortage_of_one_zone_leaves_the_share_of_its_region():
    """A region with another zone keeps its share, and its other zone takes all of it."""
    reply = decide(scale_out(4, *BOTH, members=[refused(1, 'a', 'R1')]))

    assert created(reply, 'places') == [
        {'region_name': 'R1', 'zone': 'b', 'count': 2},
        {'region_name': 'R2', 'zone': 'a', 'count': 1},
        {'region_name': 'R2', 'zone': 'd', 'count': 1},
    ]
    assert reply['warnings'] == [f'Zone a of region R1 is {UNTIL} (1 failed attempt)']


@pytest.mark.parametrize(
    ('minutes', 'places'),
    [
        (1, [('R2', 'a', 2), ('R2', 'd', 2)]),
        (9, [('R1', 'b', 1), ('R2', 'a', 2), ('R2', 'd', 1)]),
    ],
    ids=['both zones wait', 'one zone is probed'],
)
def test_region_is_short_of_capacity_if_all_its_zones_are(minutes, places):
    """A region whose zones all wait gets no node, and one node if a zone can be probed."""
    members = [refused(1, 'a', 'R1'), refused(2, 'b', 'R1', minutes=minutes)]

    reply = decide(scale_out(4, *BOTH, members=members))

    found = [tuple(place.values()) for place in created(reply, 'places')]
    assert found == places


def test_alternatives_of_both_policies_stay_in_the_region():
    """A zone of a region is replaced by another zone of the same region."""
    reply = decide(scale_out(2, *BOTH, members=[]))

    first, second = (
        {'region_name': 'R1', 'zone': 'b'},
        {'region_name': 'R2', 'zone': 'd'},
    )
    assert created(reply, 'alternatives') == [
        {'place': {'region_name': 'R1', 'zone': 'a'}, 'retry': [first]},
        {'place': {'region_name': 'R2', 'zone': 'a'}, 'retry': [second]},
    ]


def test_alternatives_of_regions_name_regions():
    """Region placement alone lists the regions to try next."""
    reply = decide(scale_out(1, BOTH[0], members=[]))

    assert created(reply, 'alternatives') == [
        {'place': {'region_name': 'R1'}, 'retry': [{'region_name': 'R2'}]}
    ]
