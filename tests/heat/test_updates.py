"""A stack is updated: members keep their zones, whatever changes."""

from typing import Any

import pytest

from tests.heat.heat_cloud import HeatCloud
from tests.heat.stacks import SERVER, Stack, placement, zones_by_name


@pytest.fixture(scope='module')
def group(cloud: HeatCloud) -> Stack:
    """A group with three members, which each test changes further."""
    return Stack(cloud).create(3)


def resource(**properties: Any) -> dict[str, Any]:
    """Return the definition of the members with more properties."""
    return {**SERVER, 'properties': {**SERVER['properties'], **properties}}


def test_update_without_change_asks_nothing(group: Stack) -> None:
    """An update without a change asks no worker and changes no member."""
    members, decisions = group.members(), group.decisions()

    group.update()

    assert group.members() == members
    assert group.decisions() == decisions


def test_update_in_place_keeps_servers_and_zones(group: Stack) -> None:
    """A rolling update in place keeps each server, and updates all."""
    members = group.members()

    group.update(resource=resource(metadata={'release': '2'}))

    assert group.members() == members
    assert group.releases() == {'2'}


@pytest.mark.parametrize(('minimum', 'batch'), [(0, 2), (2, 3)])
def test_update_by_replacement_keeps_zones(group: Stack, minimum: int, batch: int) -> None:
    """A rolling update that replaces servers keeps the zones of their members.

    With a minimum in service, Heat adds members and removes as many at the end: outdated ones.
    """
    before = group.members()
    release = f'{minimum}-{batch}'

    group.update(
        resource=resource(user_data=release, metadata={'release': release}),
        rolling_updates={'min_in_service': minimum, 'max_batch_size': batch},
    )

    after = group.members()
    kept = zones_by_name(before).items() & zones_by_name(after).items()
    assert len(after) == 3
    assert len(kept) == len(zones_by_name(before).keys() & zones_by_name(after).keys())
    assert set(group.zones().values()) == {1}
    assert {member.server for member in before}.isdisjoint(member.server for member in after)
    assert group.releases() == {release}


def test_update_in_place_with_surplus_leaves_no_outdated_member(group: Stack) -> None:
    """Members that Heat adds for a rolling update in place stay, and outdated ones leave."""
    group.update(
        resource=resource(metadata={'release': 'last'}),
        rolling_updates={'min_in_service': 3, 'max_batch_size': 1},
    )

    assert group.releases() == {'last'}
    assert set(group.zones().values()) == {1}


def test_change_of_zones_moves_no_member(group: Stack) -> None:
    """Other zones apply to new members only."""
    before = group.members()

    group.update(placement=placement('az2'))
    unchanged = group.members()
    group.scale('grow', 4)

    assert unchanged == before
    (added,) = set(group.members()) - set(before)
    assert added.zone == 'az2'
