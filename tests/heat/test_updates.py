"""A stack is updated: members keep their zones, whatever changes."""

import pytest

from tests.heat.stacks import Stack, create_together
from tests.heat.templates import placement, server

SIZE = 3
REPLACEMENTS = {'replaced': (0, 2), 'replaced-in-service': (2, 3)}
IN_PLACE = {'in-place': (0, 1), 'in-place-in-service': (3, 1)}
# `min_in_service` and `max_batch_size` of each rolling update. With a minimum in service, Heat adds
# members and removes as many at the end.
UPDATES = {**REPLACEMENTS, **IN_PLACE}


@pytest.fixture(scope='module')
def updates(cloud):
    """Groups after rolling updates, which were made at the same time, and their members before.

    The metadata of each server name the update.
    """
    groups = {name: Stack(cloud) for name in UPDATES}
    create_together(list(groups.values()), SIZE)
    before = {name: group.members() for name, group in groups.items()}
    for name, (minimum, batch) in UPDATES.items():
        changes = {'user_data': 'of another release'} if name in REPLACEMENTS else {}
        groups[name].send_update(
            resource=server(metadata={'release': name}, **changes),
            rolling_updates={'min_in_service': minimum, 'max_batch_size': batch},
        )
    for group in groups.values():
        group.wait_for_update()
    return {name: (group, before[name]) for name, group in groups.items()}


def zone_of(members):
    return {member.name: member.zone for member in members}


@pytest.mark.parametrize('name', UPDATES)
def test_rolling_update_leaves_no_outdated_member(updates, name):
    """A group has its size again, and only members with the current definition."""
    group, _ = updates[name]

    assert len(group.members()) == SIZE
    assert group.releases() == {name}


@pytest.mark.parametrize('name', UPDATES)
def test_rolling_update_keeps_zones(updates, name):
    """No member moves, and the zones are balanced at the end."""
    group, members = updates[name]
    before, after = zone_of(members), zone_of(group.members())

    common = before.keys() & after.keys()
    assert common
    assert all(before[member] == after[member] for member in common)
    assert set(group.zones().values()) == {1}


@pytest.mark.parametrize('name', REPLACEMENTS)
def test_rolling_update_by_replacement_creates_servers(updates, name):
    """Each member has another server."""
    group, before = updates[name]

    assert {member.server for member in before}.isdisjoint(
        member.server for member in group.members()
    )


def test_rolling_update_in_place_keeps_servers(updates):
    """Each member has the same server."""
    group, before = updates['in-place']

    assert group.members() == before


def test_update_without_change_asks_nothing_and_change_of_zones_moves_no_member(updates):
    """An update changes no member without need, and other zones apply to new members only."""
    group, _ = updates['in-place']
    before, decisions = group.members(), group.decisions()

    group.update()
    unchanged = group.members()
    group.update(placement=placement('az2'))

    assert unchanged == before
    assert group.decisions() == decisions
    assert group.members() == before
    group.scale('grow', SIZE + 1)
    (added,) = set(group.members()) - set(before)
    assert added.zone == 'az2'
