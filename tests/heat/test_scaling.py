"""A group changes its size, beside a group of Heat's own type."""

from collections import Counter

import pytest

from tests.cloud.exported import zones_planned
from tests.heat.stacks import Stack, create_together
from tests.heat.templates import PLAIN


@pytest.fixture(scope='module')
def groups(cloud):
    """A group, and one of Heat's own type, with three members each."""
    made = {'placed': Stack(cloud), 'plain': Stack(cloud, PLAIN)}
    create_together(list(made.values()), 3)
    return made


def scale_together(groups, policy, size):
    for group in groups.values():
        group.signal(policy)
    for group in groups.values():
        group.wait_for_size(size)


def test_create_spreads_members_over_zones(groups):
    """The members of a new group are in different zones."""
    assert groups['placed'].zones() == Counter(az1=1, az2=1, az3=1)


@pytest.mark.parametrize(('kind', 'before'), [('placed', [1, 1, 1]), ('plain', [0, 0, 0, 3])])
def test_plan_of_exported_group_has_its_zones(cloud, groups, kind, before):
    """A group of either type can be planned; Heat's API has the zones of placed members alone."""
    url = f'{cloud.engine.url}/{cloud.session("demo").get_project_id()}'
    stack = groups[kind].name

    planned = zones_planned(cloud, 'orchestration', url, '--heat', stack, 'group')

    assert [zone['before'] for zone in planned] == before
    assert sum(zone['after'] - zone['before'] for zone in planned) == 1


def test_signal_that_grows_keeps_zones_balanced(groups):
    """A signal adds members so that all zones have equally many."""
    before = groups['placed'].members()

    scale_together(groups, 'grow3', 6)

    assert groups['placed'].zones() == Counter(az1=2, az2=2, az3=2)
    assert set(before) < set(groups['placed'].members())


def test_signal_that_shrinks_removes_the_victims_of_the_worker(groups):
    """A signal removes the oldest members of the zones that the plan names."""
    placed = groups['placed']
    before = placed.members()
    oldest = sorted(placed.rows(), key=lambda row: row['creation_time'])[:3]

    scale_together(groups, 'shrink2', 4)

    removed = {member.name for member in before} - {member.name for member in placed.members()}
    assert max(placed.zones().values()) == 2
    assert removed < {row['resource_name'] for row in oldest}
    decided = placed.decisions()[-1]['reply']['action']['data']['deletion']['candidates']
    assert removed == set(decided)


def test_group_of_heat_asks_no_worker(groups):
    """Groups of Heat's own type change as before, and no worker decides about them."""
    assert len(groups['plain'].members()) == len(groups['placed'].members())
    assert groups['plain'].decisions() == []
    assert len(groups['placed'].decisions()) == 3
