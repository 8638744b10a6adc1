"""Tests for the updates that add or remove members."""

import pytest

from placement_worker.octavia.member_updates import (
    AddMember,
    AddMembers,
    RemoveMember,
    RemoveMembers,
)
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import updater

BODY = {'address': '10.0.0.1', 'protocol_port': 80}
READ_ONLY = {'id', 'provisioning_status', 'operating_status'}


@pytest.fixture
def lab():
    return Lab(pending_s=0)


@pytest.mark.parametrize(
    'change', [lambda pool: AddMember(pool, BODY), lambda pool: AddMembers(pool, [BODY])]
)
def test_is_done_of_an_addition_depends_on_the_member(lab, change):
    """An addition is done once the pool has the member."""
    _, pool_id = lab.foreign()
    updating, adding = updater(lab), change(pool_id)
    assert not adding.is_done(updating)

    adding.send(updating)

    assert adding.is_done(updating)
    assert lab.addresses() == ['10.0.0.1']


@pytest.mark.parametrize(
    'change',
    [RemoveMember, lambda pool, one: RemoveMembers(pool, [one])],
)
def test_is_done_of_a_removal_depends_on_the_member(lab, change):
    """A removal is done once the pool has no such member; other members stay."""
    _, pool_id = lab.foreign('10.0.0.1', '10.0.0.2')
    updating = updater(lab)
    [first, _] = updating.octavia.members(pool_id)
    removing = change(pool_id, first['id'])
    assert not removing.is_done(updating)

    removing.send(updating)

    assert removing.is_done(updating)
    assert lab.addresses() == ['10.0.0.2']


def test_send_of_a_removal_without_the_member_succeeds(lab):
    """A member that is already gone counts as removed."""
    _, pool_id = lab.foreign()

    RemoveMember(pool_id, 'm1').send(updater(lab))


def test_send_of_a_batch_removal_keeps_the_attributes_of_other_members(lab):
    """A batch names all attributes of the members that stay, and nothing else."""
    _, pool_id = lab.foreign('10.0.0.1', '10.0.0.2')
    updating = updater(lab)
    [first, second] = updating.octavia.members(pool_id)

    RemoveMembers(pool_id, [first['id']]).send(updating)

    [call] = [call for call in lab.calls if call.name == 'update_members']
    [body] = call.arguments[1]
    assert body == {key: second[key] for key in second.keys() - READ_ONLY}
    assert body['weight'] == 7
