"""Removing the members of nodes to be deleted, and those left behind at reused addresses."""

import pytest

from placement_worker.errors import CloudUnavailable
from tests.factories import connected, node, request
from tests.simulated_octavia import Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import (
    after,
    at,
    decision,
    left,
    member_ids,
    named,
    status,
    writes,
)

SCALE_IN, RESIZE, REPLACE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE', 'CLUSTER_REPLACE_NODES'
DELETE = 'CLUSTER_DEL_NODES'
SHRINK = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -2}


def victims(*node_ids):
    return {'data': {'deletion': {'candidates': list(node_ids)}}}


@pytest.fixture
def reused(web):
    """n1 vanished without a check, and n9 has its address: policy and nodes."""
    policy, members = web
    return policy, [members[1], at(9, 1)]


@pytest.mark.parametrize(
    ('action', 'more', 'remaining'),
    [
        (SCALE_IN, named('n2'), ['n1', 'n3', 'n4']),
        (SCALE_IN, {**victims('n2'), 'inputs': {'candidates': 7}}, ['n1', 'n3', 'n4']),
        (DELETE, {'inputs': {'candidates': {'n1': 'n8'}}}, ['n2', 'n3', 'n4']),
        (REPLACE, {'inputs': {'candidates': {'n1': 'n8'}}, **victims('n2'), 'min_size': 4},
         ['n2', 'n3', 'n4']),
        (RESIZE, {'data': {'deletion': {'count': 1, 'candidates': ['n3']}}, 'inputs': SHRINK},
         ['n1', 'n2', 'n4']),
        ('NODE_DELETE', {'node': connected(2), **victims('n2')}, ['n1', 'n3', 'n4']),
        ('NODE_DELETE', {'node': connected(2), **victims('n1')}, ['n1', 'n3', 'n4']),
    ],
)  # fmt: skip
def test_members_of_named_nodes_are_removed(lab, four_members, action, more, remaining):
    """Nodes that the action names leave the pool, regardless of a choice of earlier policies."""
    policy, members = four_members
    if 'node' in more:
        more = {**more, 'node': next(one for one in members if one['id'] == more['node']['id'])}

    reply = lab.check(request(action, [policy], members, **more))

    assert reply['action']['data'] == {
        **more.get('data', {}), 'status': 'OK', 'reason': 'Completed policy checking.',
    }  # fmt: skip
    assert left(lab) == remaining
    gone = [one['id'] for one in members if one['id'] not in remaining]
    assert reply['nodes'] == {node_id: {'data': {}} for node_id in gone}
    assert decision(reply)['reason'] == f'{len(gone)} removed'
    assert sorted(decision(reply)['details']['removed']) == gone


@pytest.mark.parametrize(
    ('batch', 'foreign', 'action', 'more', 'calls'),
    [
        (True, [], SCALE_IN, {'inputs': {'count': 4}}, ['update_members']),
        (True, [], 'NODE_DELETE', {'node': connected(1)}, ['delete_member']),
        (False, [], SCALE_IN, {'inputs': {'count': 3}}, ['delete_member'] * 3),
        (True, ['10.0.0.100'], SCALE_IN, {'inputs': {'count': 2}}, ['delete_member'] * 2),
    ],
)
def test_batch_removal_requires_a_pool_without_other_clients(batch, foreign, action, more, calls):
    """Members are removed together only if no other client changes the pool; a plan says so."""
    lab = Lab(batch_members=batch)
    properties = lab.existing(*foreign) if foreign else {}
    policy, members = lab.attached([connected(number) for number in range(1, 5)], **properties)
    lab.calls.clear()
    asked = request(action, [policy], members, **more)

    planned = decision(lab.check({**asked, 'dry_run': True}))
    assert writes(lab) == []
    really = decision(lab.check(asked))

    assert really['details']['updates'] == planned['details']['updates'] == len(calls)
    assert really['details']['removed'] == planned['details']['removed']
    assert writes(lab) == calls
    assert set(foreign) <= set(lab.addresses())
    number = len(planned['details']['removed'])
    updates = f'{len(calls)} update{"s" * (len(calls) > 1)}'
    assert planned['reason'] == f'{number} to be removed, in {updates}; nothing was written'


@pytest.mark.parametrize(
    'data', [{}, *({'lb_member': value} for value in ([], {}, ['m'], {'id': 'm'}, 7, None))]
)
def test_victim_without_a_stored_id_is_found_by_its_tag(lab, four_members, data):
    """The member of a victim is found by its tag if the node's data have no id of a member."""
    policy, members = four_members
    members = [{**members[0], 'data': data}, *members[1:]]

    reply = lab.check(request(DELETE, [policy], members, **named('n1')))

    assert (status(reply)[0], left(lab)) == ('OK', ['n2', 'n3', 'n4'])
    assert reply['nodes'] == ({'n1': {'data': {}}} if data else {})
    assert decision(reply)['details']['passed_over'] == []


def test_foreign_member_at_the_address_of_a_victim_stays(lab):
    """A foreign member at the address of a victim stays."""
    policy, members = lab.attached([connected(1)], **lab.existing('10.0.0.1'))

    reply = lab.check(request(SCALE_IN, [policy], members))

    assert decision(reply)['details']['passed_over'] == ['n1']
    assert lab.addresses() == ['10.0.0.1']


def test_member_stored_in_the_node_of_the_action_is_removed(lab):
    """The member in the data of the action's node is removed, even if it has no tags."""
    policy, _ = lab.attached([], **lab.existing('10.0.0.1'))
    one = connected(1, data={'lb_member': member_ids(lab)['foreign']})

    reply = lab.check(request('NODE_DELETE', [policy], [connected(1)], node=one))

    assert decision(reply)['details']['removed'] == ['n1']
    assert reply['nodes'] == {'n1': {'data': {}}}
    assert lab.addresses() == []


@pytest.mark.parametrize(
    ('action', 'more', 'removed'),
    [('NODE_DELETE', {'node': at(9, 1)}, ['n9']), (DELETE, named('n2', 'n9'), ['n2', 'n9'])],
)
def test_deleted_node_with_a_reused_address_leaves_the_pool(lab, reused, action, more, removed):
    """The member at a reused address is removed before the node, alone or with others."""
    policy, members = reused
    asked = request(action, [policy], members, **more)

    planned = lab.check({**asked, 'dry_run': True})
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']
    reply = lab.check(asked)

    assert decision(reply)['details']['removed'] == removed
    assert decision(planned)['details']['removed'] == removed
    assert lab.addresses() == ['10.0.0.2'][len(removed) - 1 :]


def test_second_node_with_the_same_address_adopts_no_member(lab, reused):
    """The second of two nodes with one address neither gets nor removes the member of the first."""
    policy, members = reused
    twin = at(8, 2)
    both = [members[0], twin]

    added = lab.check(after('NODE_CREATE', [policy], both, node=twin))
    removed = lab.check(request('NODE_DELETE', [policy], both, node=twin))

    assert (added['nodes'], decision(added)['details']['passed_over']) == ({}, ['n8'])
    assert decision(removed)['details']['passed_over'] == ['n8']
    assert '10.0.0.2' in lab.addresses()


def test_member_left_by_another_cluster_or_policy_stays(lab, reused):
    """A member that another cluster or policy left behind stays."""
    policy, members = reused
    asked = request('NODE_DELETE', [policy], members, node=members[1])
    asked['cluster']['id'] = 'c2'

    assert decision(lab.check(asked))['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_addresses_are_not_looked_up_without_members_left_behind(lab):
    """Addresses are looked up only if the pool has members left behind."""
    policy, members = lab.attached([connected(1)])
    members = [*members, node(2, physical_id='s2')]
    asked = []
    lab.subnet = lab.servers = lambda *args: asked.append(args)

    reply = lab.check(request(DELETE, [policy], members, **named('n1', 'n2')))

    assert (status(reply)[0], asked) == ('OK', [])


def test_node_whose_address_cannot_be_looked_up_fails_and_others_leave(lab, reused):
    """A node whose address cannot be looked up fails if members were left behind; others leave."""
    policy, members = reused

    def away(*_):
        raise CloudUnavailable('Compute service unavailable')

    lab.servers = away
    members[1] = node(9, physical_id='s9')
    reply = lab.check(request(DELETE, [policy], members, **named('n2', 'n9')))

    assert status(reply)[1] == (
        "Failed in removing deleted node(s) from lb pool: ['n9'] (n9: Compute service unavailable)"
    )
    assert decision(reply)['details']['failed'] == {'n9': 'Compute service unavailable'}
    assert data_of(patched(members, reply)) == {'n2': {}, 'n9': {}}
    assert lab.addresses() == ['10.0.0.1']


def test_request_that_expires_between_removals_keeps_the_others_and_blames_no_node():
    """If a request expires between two removals, the other member and its node's data stay."""
    lab = Lab(pending_s=0, batch_members=False)
    policy, members = lab.attached([connected(1), connected(2)])

    def expire_after_an_update(call):
        result = call.act()
        if call.name == 'show':
            lab.clock.sleep(60)
        return result

    lab.around = expire_after_an_update
    expiry = {'expires_at': lab.clock.after(30)}

    reply = lab.check(request(DELETE, [policy], members, **expiry, **named('n1', 'n2')))

    assert (status(reply), left(lab)) == (('ERROR', 'Request expired'), ['n2'])
    assert reply['nodes'] == {'n1': {'data': {}}}
