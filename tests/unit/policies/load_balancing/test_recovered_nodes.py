"""Tests for the members of recovered nodes: recreated ones, and those with the same server."""

import pytest

from tests.factories import connected, node
from tests.unit.policies.load_balancing.building_blocks import after, decision, member_ids

RECOVER = 'NODE_RECOVER'


def test_recreated_server_replaces_the_member(lab, scaled_out):
    """The member of a recreated server replaces the one of the old server."""
    policy, members = scaled_out
    old = member_ids(lab)['n1']
    recreated = {
        **connected(9),
        'id': 'n1',
        'name': 'n1',
        'data': {**members[0]['data'], 'recovery': 'RECREATE', 'x': 1},
    }

    reply = lab.check(after(RECOVER, [policy], [recreated, *members[1:]], node=recreated))

    assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
    assert member_ids(lab)['n1'] != old
    assert reply['nodes'] == {'n1': {'data': {'x': 1, 'lb_member': member_ids(lab)['n1']}}}
    assert decision(reply)['reason'] == '1 removed, 1 added'


def test_recreated_server_with_the_same_address_gets_a_new_member(lab, scaled_out):
    """A recreated server gets a new member even if it has the address of the old server."""
    policy, members = scaled_out
    recreated = {**members[0], 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}

    reply = lab.check(after(RECOVER, [policy], [recreated, *members[1:]], node=recreated))

    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']
    new = member_ids(lab)['n1']
    assert new != members[0]['data']['lb_member']
    assert reply['nodes'] == {'n1': {'data': {'lb_member': new}}}


def test_node_of_the_action_takes_precedence_over_the_node_of_the_cluster(lab, scaled_out):
    """The data of the action's node decide, not those of the same node in the cluster."""
    policy, members = scaled_out
    recreated = {
        **connected(9),
        'id': 'n1',
        'name': 'n1',
        'data': {**members[0]['data'], 'recovery': 'RECREATE'},
    }

    reply = lab.check(after(RECOVER, [policy], members, node=recreated))

    assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


@pytest.mark.parametrize('data', [{}, {'recovery': 'RECREATE'}, {'recovery': 'REBOOT'}])
def test_recreated_server_without_stored_member_loses_the_tagged_one(lab, scaled_out, data):
    """The tagged member of an old server is removed even if the node's data names none."""
    policy, members = scaled_out
    recreated = {**connected(9), 'id': 'n1', 'name': 'n1', 'data': data}

    reply = lab.check(after(RECOVER, [policy], [recreated, *members[1:]], node=recreated))

    assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


@pytest.mark.parametrize('recovery', ['REBOOT', 'REBUILD', None])
def test_recovered_server_keeps_its_member_and_drops_recovery(lab, scaled_out, recovery):
    """A server that was recovered without recreation keeps its member, and `recovery` is
    dropped.
    """
    policy, members = scaled_out
    healed = {**members[0], 'data': {**members[0]['data'], 'recovery': recovery}}
    lab.calls.clear()

    reply = lab.check(after(RECOVER, [policy], [healed, *members[1:]], node=healed))

    assert decision(reply)['outcome'] == 'SKIPPED'
    assert reply['nodes'] == {'n1': {'data': members[0]['data']}}
    assert not lab.calls


def test_recreated_node_without_address_loses_its_member_and_fails(lab, scaled_out):
    """A recreated node without an address fails, and its old member is removed."""
    policy, members = scaled_out
    recreated = node(1, data={**members[0]['data'], 'recovery': 'RECREATE'})

    reply = lab.check(after(RECOVER, [policy], [recreated, *members[1:]], node=recreated))

    assert reply['action']['data']['reason'].startswith(
        "Failed in adding nodes into lb pool: ['n1'] (n1: The node has no address"
    )
    assert reply['nodes'] == {
        'n1': {
            'data': {},
            'status': 'WARNING',
            'status_reason': 'Failed in adding node into lb pool.',
        }
    }
    assert lab.addresses() == ['10.0.0.2']


def test_dry_run_reports_the_planned_updates(lab, scaled_out):
    """A dry run reports the changes and the number of updates, and changes nothing."""
    policy, members = scaled_out
    recreated = {**connected(9), 'id': 'n1', 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}
    before = lab.settled()

    reply = lab.check(
        after(RECOVER, [policy], [recreated, *members[1:]], node=recreated, dry_run=True)
    )

    assert (
        decision(reply)['reason']
        == '1 to be removed, 1 to be added, in 2 updates; nothing was written'
    )
    assert lab.settled() == before
