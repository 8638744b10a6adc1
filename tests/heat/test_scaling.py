"""A group changes its size, beside a group of Heat's own type."""

from collections import Counter

import pytest

from tests.heat.heat_cloud import HeatCloud
from tests.heat.stacks import PLAIN, Stack


@pytest.fixture(scope='module')
def group(cloud: HeatCloud) -> Stack:
    """A group with three members."""
    return Stack(cloud).create(3)


def test_create_spreads_members_over_zones(group: Stack, cloud: HeatCloud) -> None:
    """The members of a new group are in different zones; Heat's own type uses one zone."""
    plain = Stack(cloud, PLAIN).create(3)

    assert group.zones() == Counter(az1=1, az2=1, az3=1)
    assert len(plain.members()) == 3
    assert plain.decisions() == []


def test_signal_that_grows_keeps_zones_balanced(group: Stack) -> None:
    """A signal adds members so that all zones have equally many."""
    before = group.members()

    group.scale('grow3', 6)

    after = group.members()
    assert group.zones() == Counter(az1=2, az2=2, az3=2)
    assert set(before) < set(after)


def test_signal_that_shrinks_removes_the_victims_of_the_worker(group: Stack) -> None:
    """A signal removes the oldest members of the zones that the plan names."""
    before = group.members()
    oldest = sorted(group.rows(), key=lambda row: row['creation_time'])[:3]

    group.scale('shrink2', 4)

    after = group.members()
    removed = {member.name for member in before} - {member.name for member in after}
    assert max(group.zones().values()) == 2
    assert removed < {row['resource_name'] for row in oldest}
    decided = group.decisions()[-1]['reply']['action']['data']['deletion']['candidates']
    assert removed == set(decided)
