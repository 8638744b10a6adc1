"""Tests for removing the members of nodes to be deleted."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import connected, load_balancing_policy, request
from tests.simulated_octavia import Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import decision, left

SCALE_IN, RESIZE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE'
SHRINK = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -2}


@pytest.mark.parametrize(
    ('action', 'more', 'remaining'),
    [
        (SCALE_IN, {'data': {'deletion': {'candidates': ['n2', 'n1']}}}, ['n3', 'n4']),
        (SCALE_IN, {'inputs': {'candidates': ['n2']}}, ['n1', 'n3', 'n4']),
        (
            SCALE_IN,
            {'data': {'deletion': {'candidates': ['n2']}}, 'inputs': {'candidates': 7}},
            ['n1', 'n3', 'n4'],
        ),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n4', 'n1']}}, ['n2', 'n3']),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': {'n1': 'n8'}}}, ['n2', 'n3', 'n4']),
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': {'n1': 'n8', 'n2': 'n9'}}},
            ['n3', 'n4'],
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': {'n1': 'n8'}}, 'data': {'deletion': {'candidates': ['n2']}}},
            ['n2', 'n3', 'n4'],
        ),
        (
            RESIZE,
            {'data': {'deletion': {'count': 1, 'candidates': ['n3']}}, 'inputs': SHRINK},
            ['n1', 'n2', 'n4'],
        ),
        ('NODE_DELETE', {'node': connected(2)}, ['n1', 'n3', 'n4']),
        (
            'NODE_DELETE',
            {'node': connected(2), 'data': {'deletion': {'candidates': ['n2']}}},
            ['n1', 'n3', 'n4'],
        ),
        (
            'NODE_DELETE',
            {'node': connected(2), 'data': {'deletion': {'candidates': ['n1']}}},
            ['n1', 'n3', 'n4'],
        ),
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


def test_node_in_error_that_stays_in_the_pool_keeps_its_status_and_reason(lab, four_members):
    """A node in ERROR keeps this status, and its reason gains the failure."""
    policy, members = four_members
    members[0] |= {'status': 'ERROR', 'status_reason': 'The server is gone.'}

    def refuse(call):
        if call.writes:
            raise ApiError('Policy does not allow this request', 403)
        return call.act()

    lab.around = refuse
    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1', 'n2']}))

    assert reply['action']['data']['reason'] == (
        "Failed in removing deleted node(s) from lb pool: ['n1', 'n2'] "
        '(n1: Octavia responded with status 403: Policy does not allow this request)'
    )
    assert {
        one: (reply['nodes'][one]['status'], reply['nodes'][one]['status_reason'])
        for one in ('n1', 'n2')
    } == {
        'n1': ('ERROR', 'The server is gone. Failed in removing node from lb pool.'),
        'n2': ('WARNING', 'Failed in removing node from lb pool.'),
    }


def test_all_victims_leave_an_own_pool_in_one_update(lab, four_members):
    """All members leave the policy's own pool in one update."""
    policy, members = four_members

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 4}))

    assert decision(reply)['details']['updates'] == 1
    assert left(lab) == []


@pytest.mark.parametrize(
    ('lab', 'action', 'more', 'updates'),
    [
        (Lab(), SCALE_IN, {'inputs': {'count': 3}}, 1),
        (Lab(), 'NODE_DELETE', {'node': connected(1)}, 1),
        (Lab(batch_members=False), SCALE_IN, {'inputs': {'count': 3}}, 3),
    ],
)
def test_batch_removal_requires_a_pool_without_other_clients(lab, action, more, updates):
    """Members are removed together only if no other client changes the pool."""
    policy, members = lab.attached([connected(number) for number in range(1, 5)])
    lab.calls.clear()

    reply = lab.check(request(action, [policy], members, **more))

    assert decision(reply)['details']['updates'] == updates
    assert [call.name for call in lab.calls if call.writes] == (
        ['update_members']
        if action == SCALE_IN and lab.batch_members
        else ['delete_member'] * updates
    )


def test_remaining_members_keep_all_attributes(lab, four_members):
    """A batch removal keeps all attributes of the remaining members."""
    policy, members = four_members
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        for member in pool.values():
            member |= {
                'weight': 0,
                'backup': True,
                'monitor_port': 99,
                'name': 'drained',
                'tags': ['x'],
            }
    before = lab.settled()['member']

    lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1', 'n2']}))

    assert lab.settled()['member'] == before[2:]


def test_existing_pool_keeps_its_other_members(lab):
    """A preexisting pool keeps the members that the policy did not add."""
    lb, pool = lab.foreign('10.0.0.100', '10.0.0.101')
    policy, members = lab.attached([connected(1), connected(2)], loadbalancer=lb, pool={'id': pool})

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 2}))

    assert decision(reply)['details']['updates'] == 2
    assert lab.addresses() == ['10.0.0.100', '10.0.0.101']


def test_victim_without_a_member_counts_as_removed(lab, four_members):
    """A victim whose member is already gone counts as removed."""
    policy, members = four_members
    lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert decision(reply)['reason'] == 'Nothing to change'
    assert reply['nodes'] == {'n1': {'data': {}}}


def test_victim_without_stored_member_is_found_by_its_tag(lab, four_members):
    """The member of a victim whose data names none is found by its tag."""
    policy, members = four_members
    without_data = [{**one, 'data': {}} for one in members]

    reply = lab.check(
        request(SCALE_IN, [policy], without_data, inputs={'candidates': ['n1', 'n3']})
    )

    assert left(lab) == ['n2', 'n4']
    assert reply['nodes'] == {}


@pytest.mark.parametrize('stored', [[], {}, ['m'], {'id': 'm'}, 7, None])
def test_stored_member_that_is_no_string_is_ignored(lab, four_members, stored):
    """A value in the node's data that is no id of a member is ignored."""
    policy, members = four_members
    members = [{**members[0], 'data': {'lb_member': stored}}, *members[1:]]

    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n1']})
    )

    assert (reply['action']['data']['status'], left(lab)) == ('OK', ['n2', 'n3', 'n4'])


def test_foreign_member_at_the_address_of_a_victim_stays(lab):
    """A foreign member at the address of a victim stays."""
    lb, pool = lab.foreign('10.0.0.1')
    policy, members = lab.attached([connected(1)], loadbalancer=lb, pool={'id': pool})

    reply = lab.check(request(SCALE_IN, [policy], members))

    assert decision(reply)['details']['passed_over'] == ['n1']
    assert lab.addresses() == ['10.0.0.1']


def test_member_of_another_cluster_with_the_same_node_id_stays(lab, four_members):
    """A member of another cluster stays even if its node has the same id."""
    policy, members = four_members
    asked = request(SCALE_IN, [policy], [{**members[0], 'data': {}}])
    asked['cluster']['id'] = 'c2'

    assert decision(lab.check(asked))['details']['passed_over'] == ['n1']
    assert len(left(lab)) == 4


def test_deleted_pool_counts_as_empty(lab, four_members):
    """A pool that no longer exists has no members to remove."""
    policy, members = four_members
    lab.store.__init__()

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert decision(reply)['outcome'] == 'APPLIED'
    assert reply['nodes'] == {'n1': {'data': {}}}


@pytest.mark.parametrize(
    'data',
    [{}, {'x': 1}, {'LoadBalancingPolicy': {}}, {'LoadBalancingPolicy': {'data': {'pool': 'p'}}}],
)
def test_binding_without_a_pool_is_refused(lab, data):
    """A binding that stores no pool is refused."""
    reply = lab.check(request(SCALE_IN, [load_balancing_policy(data=data)], [connected(1)]))

    assert reply['action']['data'] == {
        'status': 'ERROR',
        'reason': 'The binding holds no load balancer: attach the policy before it is checked.',
    }


def test_patches_of_earlier_policies_are_kept(lab, four_members):
    """Changes of node data by earlier policies are kept."""
    policy, members = four_members
    members[0]['data']['mark'] = 'x'

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert data_of(patched(members, reply))['n1'] == {'mark': 'x'}


def test_member_stored_in_the_node_of_the_action_is_removed(lab):
    """The member in the data of the action's node is removed, even if it has no tags."""
    lb, pool = lab.foreign('10.0.0.1')
    policy, _ = lab.attached([], loadbalancer=lb, pool={'id': pool})
    known = lab.settled()['member'][0]['id']

    reply = lab.check(
        request(
            'NODE_DELETE', [policy], [connected(1)], node=connected(1, data={'lb_member': known})
        )
    )

    assert decision(reply)['details']['removed'] == ['n1']
    assert reply['nodes'] == {'n1': {'data': {}}}
    assert lab.addresses() == []
