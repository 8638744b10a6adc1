"""Tests for removing the members of nodes to be deleted."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import balancing_policy, connected, deletion_policy, node, request, zone_policy
from tests.simulated_octavia import Lab, data_of, patched

SCALE_IN, RESIZE = 'CLUSTER_SCALE_IN', 'CLUSTER_RESIZE'
HOOKS = {'type': 'webhook', 'timeout': 5, 'params': {'url': 'http://here/'}}
SHRINK = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -2}


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def web(lab):
    """A cluster of four nodes, n1 to n4, behind a load balancer of its own: policy and nodes."""
    return lab.attached([connected(number) for number in range(1, 5)])


def decision(reply):
    return reply['decisions'][-1]


def left(lab):
    """The nodes that are still in the pool."""
    return [f'n{address.rpartition(".")[2]}' for address in lab.addresses()]


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
def test_members_of_named_nodes_are_removed(lab, web, action, more, remaining):
    """Nodes that the action names leave the pool, regardless of a choice of earlier policies."""
    policy, members = web
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
    ('action', 'more', 'count'),
    [
        (SCALE_IN, {}, 1),
        (SCALE_IN, {'inputs': {'count': 3}}, 3),
        (SCALE_IN, {'inputs': {'count': 9}}, 4),
        (SCALE_IN, {'data': {'deletion': {'count': 2, 'mark': 'x'}}, 'inputs': {'count': 1}}, 2),
        (RESIZE, {'inputs': SHRINK}, 2),
        (RESIZE, {'data': {'deletion': {'count': 3}}, 'inputs': SHRINK}, 3),
    ],
)
def test_victims_are_chosen_and_stored_if_no_policy_chose_any(lab, web, action, more, count):
    """If no policy chose victims, this one chooses them and stores them in the action's data."""
    policy, members = web

    reply = lab.check(request(action, [policy], members, **more))

    deletion = reply['action']['data']['deletion']
    assert deletion == {
        **more.get('data', {}).get('deletion', {}), 'count': count,
        'candidates': deletion['candidates'],
    }  # fmt: skip
    assert len(set(deletion['candidates'])) == count
    assert left(lab) == [one['id'] for one in members if one['id'] not in deletion['candidates']]


def test_chosen_victims_equal_those_of_random_deletion(lab, web):
    """The chosen victims are those that the deletion policy chooses with RANDOM."""
    policy, members = web
    members[2]['status'] = 'ERROR'
    asked = {'inputs': {'count': 2}, 'dry_run': True}

    ours = lab.check(request(SCALE_IN, [policy], members, **asked))
    theirs = lab.check(request(SCALE_IN, [deletion_policy('RANDOM')], members, **asked))

    assert (
        ours['action']['data']['deletion']['candidates']
        == theirs['action']['data']['deletion']['candidates']
    )
    assert ours['action']['data']['deletion']['candidates'][0] == 'n3'


def test_chosen_victims_follow_a_plan_by_zones(lab):
    """Victims are chosen in the zones that an earlier policy planned."""
    lab = Lab(description={'zones': {'a': True, 'b': True}})
    placed = [
        connected(n, data={'placement': {'zone': zone}}) for n, zone in enumerate('aaab', start=1)
    ]
    policy, members = lab.attached(placed)

    reply = lab.check(
        request(SCALE_IN, [zone_policy('a', 'b'), policy], members, inputs={'count': 2})
    )

    deletion = reply['action']['data']['deletion']
    assert deletion['zones'] == {'a': 2}
    assert set(deletion['candidates']) < {'n1', 'n2', 'n3'}
    assert left(lab) == sorted({'n1', 'n2', 'n3', 'n4'} - set(deletion['candidates']))


def test_chosen_victims_follow_a_plan_by_regions(lab, web):
    """Victims are chosen in the regions that an earlier policy planned, even without members."""
    policy, members = web
    members = [*members, node(5, region='R2'), node(6, region='R2')]
    data = {'deletion': {'count': 2, 'regions': {'R2': 2}}}

    reply = lab.check(request(SCALE_IN, [policy], members, data=data))

    assert sorted(reply['action']['data']['deletion']['candidates']) == ['n5', 'n6']
    assert (
        decision(reply)['details']['passed_over']
        == reply['action']['data']['deletion']['candidates']
    )
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


def test_members_of_the_victims_of_deletion_are_removed(lab, web):
    """The members of the victims that the deletion policy chose are removed."""
    policy, members = web

    reply = lab.check(request(SCALE_IN, [policy, deletion_policy()], members, inputs={'count': 2}))

    assert reply['action']['data']['deletion']['candidates'] == ['n1', 'n2']
    assert left(lab) == ['n3', 'n4']
    assert reply['action']['data']['reason'] == 'Candidates generated'


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (
            SCALE_IN,
            {'data': {'hooks': HOOKS}},
            'The engine takes the nodes out of the pool after its lifecycle hooks.',
        ),
        (SCALE_IN, {'inputs': {'count': 0}}, 'No node is to be deleted.'),
        (SCALE_IN, {'data': {'deletion': {'count': 0}}}, 'No node is to be deleted.'),
        (
            RESIZE,
            {'inputs': {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': 2}},
            'No node is to be deleted.',
        ),
        (RESIZE, {'data': {'creation': {'count': 2}}}, 'No node is to be deleted.'),
        ('CLUSTER_DEL_NODES', {}, 'No node is to be deleted.'),
        (
            SCALE_IN,
            {'min_size': 4},
            'The engine will refuse to leave fewer than min_size (4) nodes.',
        ),
        (
            SCALE_IN,
            {'min_size': 3, 'inputs': {'count': 2}},
            'The engine will refuse to leave fewer than min_size (3) nodes.',
        ),
        (
            'CLUSTER_DEL_NODES',
            {'min_size': 4, 'inputs': {'candidates': ['n1']}},
            'The engine will refuse to leave fewer than min_size (4) nodes.',
        ),
        (
            'NODE_DELETE',
            {'min_size': 4, 'node': connected(1)},
            'The engine will refuse to leave fewer than min_size (4) nodes.',
        ),
    ],
)
def test_check_without_victims_is_skipped_without_a_call(lab, web, action, more, reason):
    """An action that removes no node is skipped without a call to Octavia."""
    policy, members = web
    lab.calls.clear()

    reply = lab.check(request(action, [policy], members, **more))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == ('SKIPPED', reason)
    assert reply['action']['data']['status'] == 'OK'
    assert (reply['nodes'], lab.calls) == ({}, [])


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        (SCALE_IN, {'min_size': 3}),
        (RESIZE, {'min_size': 4, 'data': {'deletion': {'count': 1}}}),
        ('CLUSTER_REPLACE_NODES', {'min_size': 4, 'inputs': {'candidates': {'n1': 'n9'}}}),
    ],
)
def test_removal_down_to_min_size_is_applied(lab, web, action, more):
    """A removal may reach min_size; replacing and resizing may go below it."""
    policy, members = web

    assert decision(lab.check(request(action, [policy], members, **more)))['outcome'] == 'APPLIED'
    assert len(left(lab)) == 3


@pytest.mark.parametrize(
    ('more', 'reason'),
    [
        ({'inputs': {'candidates': ['n1', 'n8', 'n9']}}, 'Not a member of cluster c1: n8, n9'),
        ({'data': {'deletion': {'candidates': ['n8']}}}, 'Not a member of cluster c1: n8'),
        (
            {'data': {'deletion': {'candidates': 'n1'}}},
            'Expected `array`, got `"n1"` - at `$.action.data.deletion.candidates`',
        ),
        (
            {'data': {'deletion': {'candidates': ['n1', 'n1']}}},
            'Expected each node once, got `n1` again - at `$.action.data.deletion.candidates[1]`',
        ),
        ({'inputs': {'count': -1}}, 'Expected `int` >= 0, got `-1` - at `$.action.inputs.count`'),
        (
            {'data': {'deletion': {'count': 1, 'zones': {'a': 2}}}},
            'Expected a plan for at most 1 nodes, got one for 2 - at `$.action.data.deletion`',
        ),
    ],
)
def test_invalid_inputs_are_refused_without_a_removal(lab, web, more, reason):
    """Invalid inputs are refused with their path, and no member is removed."""
    policy, members = web

    reply = lab.check(request(SCALE_IN, [policy], members, **more))

    assert reply['action']['data'] == {**more.get('data', {}), 'status': 'ERROR', 'reason': reason}
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': ['n1']}},
            'Expected `object`, got `array` - at `$.action.inputs.candidates` (old node id: new '
            'node id)',
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {},
            'Expected `object`, got `null` - at `$.action.inputs.candidates` (old node id: new '
            'node id)',
        ),
        ('NODE_DELETE', {'node': connected(9)}, 'Not a member of cluster c1: n9'),
        ('NODE_DELETE', {'node': connected(9), 'min_size': 4}, 'Not a member of cluster c1: n9'),
    ],
)
def test_unknown_nodes_are_refused_without_a_removal(lab, web, action, more, reason):
    """A replacement without a map and a NODE_DELETE of an unknown node remove no member."""
    policy, members = web

    reply = lab.check(request(action, [policy], members, **more))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        reason,
    )
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


def test_node_in_error_that_stays_in_the_pool_keeps_its_status_and_reason(lab, web):
    """A node in ERROR keeps this status, and its reason gains the failure."""
    policy, members = web
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


def test_all_victims_leave_an_own_pool_in_one_update(lab, web):
    """All members leave the policy's own pool in one update."""
    policy, members = web

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


def test_remaining_members_keep_all_attributes(lab, web):
    """A batch removal keeps all attributes of the remaining members."""
    policy, members = web
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


def test_victim_without_a_member_counts_as_removed(lab, web):
    """A victim whose member is already gone counts as removed."""
    policy, members = web
    lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert decision(reply)['reason'] == 'Nothing to change'
    assert reply['nodes'] == {'n1': {'data': {}}}


def test_victim_without_stored_member_is_found_by_its_tag(lab, web):
    """The member of a victim whose data names none is found by its tag."""
    policy, members = web
    forgetful = [{**one, 'data': {}} for one in members]

    reply = lab.check(request(SCALE_IN, [policy], forgetful, inputs={'candidates': ['n1', 'n3']}))

    assert left(lab) == ['n2', 'n4']
    assert reply['nodes'] == {}


@pytest.mark.parametrize('said', [[], {}, ['m'], {'id': 'm'}, 7, None])
def test_stored_member_that_is_no_string_is_ignored(lab, web, said):
    """A value in the node's data that is no id of a member is ignored."""
    policy, members = web
    members = [{**members[0], 'data': {'lb_member': said}}, *members[1:]]

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


def test_member_of_another_cluster_with_the_same_node_id_stays(lab, web):
    """A member of another cluster stays even if its node has the same id."""
    policy, members = web
    asked = request(SCALE_IN, [policy], [{**members[0], 'data': {}}])
    asked['cluster']['id'] = 'c2'

    assert decision(lab.check(asked))['details']['passed_over'] == ['n1']
    assert len(left(lab)) == 4


def test_deleted_pool_counts_as_empty(lab, web):
    """A pool that no longer exists has no members to remove."""
    policy, members = web
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
    reply = lab.check(request(SCALE_IN, [balancing_policy(data=data)], [connected(1)]))

    assert reply['action']['data'] == {
        'status': 'ERROR',
        'reason': 'The binding holds no load balancer: attach the policy before it is checked.',
    }


def test_patches_of_earlier_policies_are_kept(lab, web):
    """Changes of node data by earlier policies are kept."""
    policy, members = web
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
