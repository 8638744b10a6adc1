"""A stack is updated: members keep their zones, whatever changes."""

from typing import Any

import pytest

from tests.heat.stacks import Member, Stack, create_together, zones_by_name
from tests.heat.templates import placement, server

SIZE = 3
REPLACEMENTS = {'replaced': (0, 2), 'replaced-in-service': (2, 3)}
IN_PLACE = {'in-place': (0, 1), 'in-place-in-service': (3, 1)}
# `min_in_service` and `max_batch_size` of each rolling update. With a minimum in service, Heat adds
# members and removes as many at the end.
UPDATES = {**REPLACEMENTS, **IN_PLACE}


class RollingUpdate:
    """A group before and after a rolling update."""

    def __init__(self, name, group):
        self.name, self.group = name, group
        self.before: list[Member] = []

    def send(self):
        """Begin the update, after which the metadata of each server names it."""
        self.before = self.group.members()
        changes: dict[str, Any] = {'metadata': {'release': self.name}}
        if self.name in REPLACEMENTS:
            changes['user_data'] = 'of another release'
        minimum, batch = UPDATES[self.name]
        self.group.send_update(
            resource=server(**changes),
            rolling_updates={'min_in_service': minimum, 'max_batch_size': batch},
        )


@pytest.fixture(scope='module')
def updates(cloud):
    """Completed rolling updates of groups, made at the same time."""
    groups = [Stack(cloud) for _ in UPDATES]
    create_together(groups, SIZE)
    made = {name: RollingUpdate(name, group) for name, group in zip(UPDATES, groups, strict=True)}
    for update in made.values():
        update.send()
    for update in made.values():
        update.group.wait_for_update()
    return made


@pytest.mark.parametrize('name', UPDATES)
def test_rolling_update_leaves_no_outdated_member(updates, name):
    """A group has its size again, and only members with the current definition."""
    group = updates[name].group

    assert len(group.members()) == SIZE
    assert group.releases() == {name}


@pytest.mark.parametrize('name', UPDATES)
def test_rolling_update_keeps_zones(updates, name):
    """No member moves, and the zones are balanced at the end."""
    before, group = zones_by_name(updates[name].before), updates[name].group
    after = zones_by_name(group.members())

    common = before.keys() & after.keys()
    assert common
    assert {member: before[member] for member in common} == {
        member: after[member] for member in common
    }
    assert set(group.zones().values()) == {1}


@pytest.mark.parametrize('name', REPLACEMENTS)
def test_rolling_update_by_replacement_creates_servers(updates, name):
    """Each member has another server."""
    servers = {member.server for member in updates[name].before}

    assert servers.isdisjoint(member.server for member in updates[name].group.members())


def test_rolling_update_in_place_keeps_servers(updates):
    """Each member has the same server."""
    assert updates['in-place'].group.members() == updates['in-place'].before


def test_update_without_change_asks_nothing_and_change_of_zones_moves_no_member(updates):
    """An update changes no member without need, and other zones apply to new members only."""
    group = updates['in-place'].group
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
