"""The load-balancing policy before nodes die: who leaves the pool, and what is said of them."""

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
        (SCALE_IN, {'data': {'deletion': {'candidates': ['n2']}}, 'inputs': {'candidates': 7}}, ['n1', 'n3', 'n4']),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n4', 'n1']}}, ['n2', 'n3']),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': {'n1': 'n8'}}}, ['n2', 'n3', 'n4']),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n8', 'n2': 'n9'}}}, ['n3', 'n4']),
        (
            'CLUSTER_REPLACE_NODES',
            {'inputs': {'candidates': {'n1': 'n8'}}, 'data': {'deletion': {'candidates': ['n2']}}},
            ['n2', 'n3', 'n4'],
        ),
        (RESIZE, {'data': {'deletion': {'count': 1, 'candidates': ['n3']}}, 'inputs': SHRINK}, ['n1', 'n2', 'n4']),
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
def test_the_nodes_that_are_named_leave_the_pool(lab, web, action, more, remaining):
    """Named nodes leave the pool: the node of NODE_DELETE whatever an earlier policy chose."""
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
def test_where_nobody_has_chosen_so_many_are_chosen_and_written_down(lab, web, action, more, count):
    policy, members = web

    reply = lab.check(request(action, [policy], members, **more))

    deletion = reply['action']['data']['deletion']
    assert deletion == {
        **more.get('data', {}).get('deletion', {}), 'count': count, 'candidates': deletion['candidates'],
    }  # fmt: skip
    assert len(set(deletion['candidates'])) == count
    assert left(lab) == [one['id'] for one in members if one['id'] not in deletion['candidates']]


def test_the_choice_is_that_of_the_deletion_policy_with_random_victims(lab, web):
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


def test_a_plan_by_zones_is_honoured(lab):
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


def test_a_plan_by_regions_is_honoured_for_nodes_that_are_in_no_pool(lab, web):
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


def test_what_the_deletion_policy_chose_leaves_the_pool(lab, web):
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
def test_it_keeps_out_of_what_is_not_its_business_and_asks_octavia_nothing(
    lab, web, action, more, reason
):
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
def test_the_min_size_may_be_reached_and_does_not_bind_what_replaces_or_resizes(
    lab, web, action, more
):
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
def test_what_makes_no_sense_is_named_and_nobody_leaves(lab, web, more, reason):
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
            'Expected `object`, got `array` - at `$.action.inputs.candidates` (old node id: new node id)',
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {},
            'Expected `object`, got `null` - at `$.action.inputs.candidates` (old node id: new node id)',
        ),
        ('NODE_DELETE', {'node': connected(9)}, 'Not a member of cluster c1: n9'),
        ('NODE_DELETE', {'node': connected(9), 'min_size': 4}, 'Not a member of cluster c1: n9'),
    ],
)
def test_nodes_that_cannot_be_meant_are_an_error_and_nobody_leaves(lab, web, action, more, reason):
    """A replacement without a map, or a NODE_DELETE of a node outside the cluster, fails and
    removes no member.
    """
    policy, members = web

    reply = lab.check(request(action, [policy], members, **more))

    assert (reply['action']['data']['status'], reply['action']['data']['reason']) == (
        'ERROR',
        reason,
    )
    assert left(lab) == ['n1', 'n2', 'n3', 'n4']


def test_a_node_in_error_that_cannot_leave_stays_in_error_with_its_reason(lab, web):
    """A node in ERROR does not turn WARNING, and the failure and its cause are said."""
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
        '(n1: Octavia answers 403: Policy does not allow this request)'
    )
    assert {
        one: (reply['nodes'][one]['status'], reply['nodes'][one]['status_reason'])
        for one in ('n1', 'n2')
    } == {
        'n1': ('ERROR', 'The server is gone. Failed in removing node from lb pool.'),
        'n2': ('WARNING', 'Failed in removing node from lb pool.'),
    }


def test_all_leave_an_own_pool_in_one_update(lab, web):
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
def test_members_leave_together_only_where_nobody_else_changes_the_pool(lab, action, more, updates):
    policy, members = lab.attached([connected(number) for number in range(1, 5)])
    lab.calls.clear()

    reply = lab.check(request(action, [policy], members, **more))

    assert decision(reply)['details']['updates'] == updates
    assert [call.name for call in lab.calls if call.writes] == (
        ['update_members']
        if action == SCALE_IN and lab.batch_members
        else ['delete_member'] * updates
    )


def test_the_members_that_stay_keep_all_that_can_be_said_of_them(lab, web):
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


def test_a_pool_of_somebody_elses_keeps_its_members(lab):
    lb, pool = lab.foreign('10.0.0.100', '10.0.0.101')
    policy, members = lab.attached([connected(1), connected(2)], loadbalancer=lb, pool={'id': pool})

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'count': 2}))

    assert decision(reply)['details']['updates'] == 2
    assert lab.addresses() == ['10.0.0.100', '10.0.0.101']


def test_a_node_whose_member_is_gone_already_is_done(lab, web):
    policy, members = web
    lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert decision(reply)['reason'] == 'Nothing to change'
    assert reply['nodes'] == {'n1': {'data': {}}}


def test_a_node_that_does_not_know_of_its_member_is_found_by_its_tag(lab, web):
    policy, members = web
    forgetful = [{**one, 'data': {}} for one in members]

    reply = lab.check(request(SCALE_IN, [policy], forgetful, inputs={'candidates': ['n1', 'n3']}))

    assert left(lab) == ['n2', 'n4']
    assert reply['nodes'] == {}


@pytest.mark.parametrize('said', [[], {}, ['m'], {'id': 'm'}, 7, None])
def test_what_is_no_members_id_in_a_nodes_data_is_as_none(lab, web, said):
    policy, members = web
    members = [{**members[0], 'data': {'lb_member': said}}, *members[1:]]

    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n1']})
    )

    assert (reply['action']['data']['status'], left(lab)) == ('OK', ['n2', 'n3', 'n4'])


def test_a_member_of_somebody_elses_at_the_address_of_a_node_stays(lab):
    lb, pool = lab.foreign('10.0.0.1')
    policy, members = lab.attached([connected(1)], loadbalancer=lb, pool={'id': pool})

    reply = lab.check(request(SCALE_IN, [policy], members))

    assert decision(reply)['details']['passed_over'] == ['n1']
    assert lab.addresses() == ['10.0.0.1']


def test_a_member_of_another_cluster_stays_though_its_node_has_the_same_id(lab, web):
    policy, members = web
    asked = request(SCALE_IN, [policy], [{**members[0], 'data': {}}])
    asked['cluster']['id'] = 'c2'

    assert decision(lab.check(asked))['details']['passed_over'] == ['n1']
    assert len(left(lab)) == 4


def test_a_pool_that_is_gone_has_no_members(lab, web):
    policy, members = web
    lab.store.__init__()

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert decision(reply)['outcome'] == 'APPLIED'
    assert reply['nodes'] == {'n1': {'data': {}}}


@pytest.mark.parametrize(
    'data',
    [{}, {'x': 1}, {'LoadBalancingPolicy': {}}, {'LoadBalancingPolicy': {'data': {'pool': 'p'}}}],
)
def test_a_binding_that_does_not_say_which_pool_is_told(lab, data):
    reply = lab.check(request(SCALE_IN, [balancing_policy(data=data)], [connected(1)]))

    assert reply['action']['data'] == {
        'status': 'ERROR',
        'reason': 'The binding holds no load balancer: attach the policy before it is checked.',
    }


def test_the_data_of_earlier_policies_patches_are_kept(lab, web):
    policy, members = web
    members[0]['data']['mark'] = 'x'

    reply = lab.check(request(SCALE_IN, [policy], members, inputs={'candidates': ['n1']}))

    assert data_of(patched(members, reply))['n1'] == {'mark': 'x'}


def test_the_member_that_the_node_of_the_action_knows_of_leaves_though_its_copy_does_not(lab):
    """As one that Senlin added, which carries no tags."""
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
