"""Tests for adding the members of new nodes."""

import pytest

from tests.factories import connected, load_balancing_policy, node
from tests.simulated_octavia import Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import after, created, decision, member_ids

SCALE_OUT, RECOVER = 'CLUSTER_SCALE_OUT', 'NODE_RECOVER'


@pytest.mark.parametrize(
    ('action', 'more', 'joined'),
    [
        (SCALE_OUT, {'data': created('n3', 'n4')}, ['n3', 'n4']),
        ('CLUSTER_ADD_NODES', {'data': created('n3')}, ['n3']),
        ('CLUSTER_RESIZE', {'data': created('n4', 'n3')}, ['n3', 'n4']),
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': {'n8': 'n3', 'n9': 'n4'}}},
            ['n3', 'n4'],
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': {'n8': 'n3'}}, 'data': created('n4')},
            ['n3'],
        ),
        ('NODE_CREATE', {'node': connected(3)}, ['n3']),
        (RECOVER, {'node': connected(3)}, ['n3']),
        (SCALE_OUT, {'data': created('n3'), 'inputs': {'action_result': 'OK'}}, ['n3']),
        (SCALE_OUT, {'data': created('n3'), 'inputs': {'action_result': None}}, ['n3']),
    ],
)
def test_new_nodes_become_members_in_one_update(lab, scaled_out, action, more, joined):
    """All new nodes become members in one update, and their data holds the ids."""
    policy, members = scaled_out
    lab.calls.clear()

    reply = lab.check(after(action, [policy], members, **more))

    assert reply['action']['data'] == {
        **more.get('data', {}), 'status': 'OK', 'reason': 'Completed policy checking.',
    }  # fmt: skip
    ids = member_ids(lab)
    assert sorted(ids) == sorted(['n1', 'n2', *joined])
    assert reply['nodes'] == {node_id: {'data': {'lb_member': ids[node_id]}} for node_id in joined}
    assert decision(reply)['reason'] == f'{len(joined)} added'
    assert decision(reply)['details']['updates'] == 1
    assert [call.name for call in lab.calls if call.writes] == ['update_members']


def test_check_details_count_nodes_calls_and_updates(lab, scaled_out):
    """The details of the decision list nodes, calls, updates and the time spent waiting."""
    policy, members = scaled_out
    lab.calls.clear()

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3', 'n1')))

    details = decision(reply)['details']
    assert details == {
        'pool': policy['data']['LoadBalancingPolicy']['data']['pool'],
        'added': ['n3'],
        'removed': [],
        'already_there': ['n1'],
        'passed_over': [],
        'failed': {},
        'api_calls': len(lab.calls),
        'updates': 1,
        'waited_s': round(sum(lab.clock.slept[-2:]), 3),
    }
    assert decision(reply)['reason'] == '1 added, 1 in the pool already'


@pytest.mark.parametrize('count', [1, 50])
def test_adding_more_nodes_takes_the_same_number_of_calls(count):
    """The number of calls and updates does not depend on the number of new nodes."""
    lab = Lab()
    policy, members = lab.attached([])
    lab.calls.clear()
    new = [connected(number, created_at=None) for number in range(1, count + 1)]

    reply = lab.check(
        after(SCALE_OUT, [policy], [*members, *new], data=created(*(one['id'] for one in new)))
    )

    assert decision(reply)['details']['updates'] == 1
    assert decision(reply)['details']['api_calls'] == len(lab.calls) < 8
    assert len(lab.addresses()) == count


def test_adding_without_batch_members_takes_one_update_per_member():
    """With `batch_members` off, each member is added in an update of its own."""
    lab = Lab(batch_members=False)
    policy, members = lab.attached([])
    new = [connected(number) for number in range(1, 4)]

    reply = lab.check(after(SCALE_OUT, [policy], [*members, *new], data=created('n1', 'n2', 'n3')))

    assert decision(reply)['details']['updates'] == 3
    assert data_of(patched(new, reply)) == {
        name: {'lb_member': id_} for name, id_ in member_ids(lab).items()
    }


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (SCALE_OUT, {}, 'No node was created.'),
        (SCALE_OUT, {'data': {'creation': {'count': 2}}}, 'No node was created.'),
        (SCALE_OUT, {'data': created()}, 'No node was created.'),
        ('CLUSTER_RESIZE', {'data': {'deletion': {'count': 1}}}, 'No node was created.'),
        (
            SCALE_OUT,
            {'data': created('n3'), 'inputs': {'action_result': 'ERROR'}},
            'The action did not succeed.',
        ),
        (
            'NODE_CREATE',
            {'node': connected(3), 'inputs': {'action_result': 'TIMEOUT'}},
            'The action did not succeed.',
        ),
        (
            RECOVER,
            {'node': connected(3, data={'lb_member': 'm3'})},
            'The node is in the pool, and was not created again.',
        ),
    ],
)
def test_check_without_new_nodes_is_skipped_without_a_call(lab, scaled_out, action, more, reason):
    """An action that adds no node is skipped without a call to Octavia."""
    policy, members = scaled_out
    if action == RECOVER:
        members[2] = more['node']
    lab.calls.clear()

    reply = lab.check(after(action, [policy], members, **more))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == ('SKIPPED', reason)
    assert (reply['nodes'], lab.calls) == ({}, [])


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': ['n3']}},
            'Expected `object`, got `array` - at `$.action.inputs.candidates` (old node id: new '
            'node id)',
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {},
            'Expected `object`, got `null` - at `$.action.inputs.candidates` (old node id: new '
            'node id)',
        ),
        (
            SCALE_OUT,
            {'data': {'creation': []}},
            'Expected `object`, got `array` - at `$.action.data.creation`',
        ),
        (
            SCALE_OUT,
            {'data': {'creation': {'nodes': 'n3'}}},
            'Expected `array`, got `"n3"` - at `$.action.data.creation.nodes`',
        ),
    ],
)
def test_invalid_data_of_the_action_is_refused_with_its_path(lab, scaled_out, action, more, reason):
    """Data of the wrong type are refused, and the text names the path."""
    policy, members = scaled_out

    assert lab.check(after(action, [policy], members, **more))['action']['data']['reason'] == reason
    assert len(lab.addresses()) == 2


@pytest.mark.parametrize(
    ('before', 'kept'),
    [
        (None, 'Failed in adding node into lb pool.'),
        (
            'No valid host was found.',
            'No valid host was found. Failed in adding node into lb pool.',
        ),
        ('The server is gone', 'The server is gone. Failed in adding node into lb pool.'),
        ('x. Failed in adding node into lb pool.', 'x. Failed in adding node into lb pool.'),
    ],
)
def test_failed_node_in_error_keeps_its_status_and_reason(lab, scaled_out, before, kept):
    """A node in ERROR keeps this status, and its reason gains the failure once."""
    policy, members = scaled_out
    members[2] = node(3, status='ERROR', status_reason=before)

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert reply['nodes'] == {'n3': {'data': {}, 'status': 'ERROR', 'status_reason': kept}}


def test_unknown_node_fails_and_the_others_become_members(lab, scaled_out):
    """An id that no node of the cluster has fails, and the other nodes become members."""
    policy, members = scaled_out

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n9', 'n3')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n9'] (n9: The cluster has no such node)"
    )
    assert decision(reply)['details']['failed'] == {'n9': 'The cluster has no such node'}
    assert reply['nodes'] == {'n3': {'data': {'lb_member': member_ids(lab)['n3']}}}


def test_deleted_pool_fails_all_nodes(lab, scaled_out):
    """All nodes fail if the pool no longer exists, and the cause names the pool."""
    policy, members = scaled_out
    lab.store.__init__()

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
    assert reply['action']['data']['reason'] == (
        f"Failed in adding nodes into lb pool: ['n3'] (n3: Pool {pool} does not exist any more)"
    )
    assert decision(reply)['details']['failed'] == {'n3': f'Pool {pool} does not exist any more'}
    assert reply['nodes']['n3']['status'] == 'WARNING'


@pytest.mark.parametrize('action', ['CLUSTER_ADD_NODES', SCALE_OUT])
def test_repeated_check_after_a_failed_one_makes_the_nodes_active(lab, scaled_out, action):
    """The warning of a failed check ends with the check that adds the member."""
    policy, members = scaled_out
    without_address = [*members[:2], *({**one, 'details': {}} for one in members[2:])]
    failed = lab.check(after(SCALE_OUT, [policy], without_address, data=created('n3', 'n4')))
    stored = patched(members, failed)
    assert [one['status'] for one in stored] == ['ACTIVE', 'ACTIVE', 'WARNING', 'WARNING']

    reply = lab.check(after(action, [policy], stored, data=created('n1', 'n3', 'n4')))

    assert reply['nodes'] == {
        name: {
            'data': {'lb_member': member_ids(lab)[name]},
            'status': 'ACTIVE',
            'status_reason': 'Succeeded in adding node into lb pool.',
        }
        for name in ('n3', 'n4')
    }


def test_node_with_a_warning_whose_member_is_present_becomes_active(lab, scaled_out):
    """A member that a failed check has left in the pool ends the warning, too."""
    policy, members = scaled_out
    members[0] |= {
        'status': 'WARNING',
        'status_reason': 'Failed in adding node into lb pool.',
    }

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert reply['nodes']['n1']['status'] == 'ACTIVE'


def test_binding_without_a_pool_is_refused_without_a_call(lab):
    """A binding that stores no pool is refused without a call to the cloud."""
    asked = after(
        SCALE_OUT,
        [load_balancing_policy(pool={'subnet': 'none'})],
        [connected(1)],
        data=created('n1'),
    )

    assert lab.check(asked)['action']['data']['reason'] == (
        'The binding holds no load balancer: attach the policy before it is checked.'
    )


def test_deleted_subnet_fails_all_nodes(lab, scaled_out):
    """All nodes fail if the subnet of the pool no longer exists."""
    policy, members = scaled_out
    policy['spec']['properties']['pool']['subnet'] = 'none'

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n3'] (n3: Subnet none of `pool.subnet` does not "
        'exist in the cloud.)'
    )
    assert decision(reply)['details']['failed'] == {
        'n3': 'Subnet none of `pool.subnet` does not exist in the cloud.'
    }
    assert reply['nodes']['n3']['status'] == 'WARNING'


def test_node_of_the_action_replaces_its_copy_in_the_cluster(lab, scaled_out):
    """The address of the action's node is used, even if the cluster lists the node without one."""
    policy, members = scaled_out

    reply = lab.check(
        after(
            'NODE_CREATE',
            [policy],
            [*members[:2], node(3, status='CREATING')],
            node=connected(3, data={'x': 1}),
        )
    )

    assert reply['nodes'] == {'n3': {'data': {'x': 1, 'lb_member': member_ids(lab)['n3']}}}
