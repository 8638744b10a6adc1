"""The load-balancing policy after nodes were born: who joins the pool, and what is said of them."""

import pytest

from tests.factories import balancing_policy, connected, node, request
from tests.simulated_octavia import Lab, data_of, patched

SCALE_OUT, RECOVER = 'CLUSTER_SCALE_OUT', 'NODE_RECOVER'


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def web(lab):
    """A cluster of which n1 and n2 are behind a load balancer, and n3 and n4 are not yet: policy
    and nodes.
    """
    policy, members = lab.attached([connected(1), connected(2)])
    return policy, [*members, connected(3), connected(4)]


def after(action, policies, members, **more):
    return request(action, policies, members, target='AFTER', **more)


def created(*node_ids):
    return {'creation': {'count': len(node_ids), 'nodes': list(node_ids)}}


def decision(reply):
    return reply['decisions'][-1]


def member_ids(lab):
    """Node name -> id of its member."""
    return {member['name']: member['id'] for member in lab.settled()['member']}


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
def test_new_nodes_join_the_pool_in_one_update_and_know_their_member(
    lab, web, action, more, joined
):
    policy, members = web
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


def test_what_is_told_of_a_check(lab, web):
    policy, members = web
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
def test_adding_takes_one_update_and_as_many_calls_however_many_there_are(count):
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


def test_members_are_added_one_at_a_time_where_that_is_wanted():
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
def test_it_keeps_out_of_what_is_not_its_business_and_asks_octavia_nothing(
    lab, web, action, more, reason
):
    policy, members = web
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
            'Expected `object`, got `array` - at `$.action.inputs.candidates` (old node id: new node id)',
        ),
        (
            'CLUSTER_REPLACE_NODES',
            {},
            'Expected `object`, got `null` - at `$.action.inputs.candidates` (old node id: new node id)',
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
def test_what_makes_no_sense_is_named(lab, web, action, more, reason):
    policy, members = web

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
def test_a_node_in_error_that_cannot_join_stays_in_error_with_its_reason(lab, web, before, kept):
    """A node in ERROR does not turn WARNING, and the failure is appended to its reason, once."""
    policy, members = web
    members[2] = node(3, status='ERROR', status_reason=before)

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert reply['nodes'] == {'n3': {'data': {}, 'status': 'ERROR', 'status_reason': kept}}


def test_a_stranger_fails_and_the_others_join(lab, web):
    policy, members = web

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n9', 'n3')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n9'] (n9: The cluster has no such node)"
    )
    assert decision(reply)['details']['failed'] == {'n9': 'The cluster has no such node'}
    assert reply['nodes'] == {'n3': {'data': {'lb_member': member_ids(lab)['n3']}}}


def test_a_node_whose_member_is_gone_gets_a_new_one(lab, web):
    policy, members = web
    members[0]['data']['lb_member'] = 'long-gone'
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        del pool[next(iter(pool))]

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


def test_a_node_that_does_not_know_of_its_member_learns_of_it(lab, web):
    policy, members = web
    forgetful = [{**one, 'data': {'x': 1}} for one in members]
    before = member_ids(lab)
    lab.calls.clear()

    reply = lab.check(after(SCALE_OUT, [policy], forgetful, data=created('n1', 'n2')))

    assert reply['nodes'] == {
        name: {'data': {'x': 1, 'lb_member': id_}} for name, id_ in before.items()
    }
    assert not any(call.writes for call in lab.calls)


def test_a_member_of_somebody_elses_at_the_address_serves_and_is_left_alone(lab):
    lb, pool = lab.foreign('10.0.0.1')
    policy, _ = lab.attached([], loadbalancer=lb, pool={'id': pool})
    before = lab.settled()

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1)], data=created('n1')))

    assert decision(reply)['reason'] == '1 in the pool already'
    assert reply['nodes'] == {}
    assert lab.settled() == before


def test_a_member_that_is_on_its_way_out_does_not_count_as_there(lab, web):
    """Who took it out may have died before it was gone; a new node may have got the address of an
    old one.
    """
    policy, members = web
    ids = member_ids(lab)
    lab.octavia(None).delete_member(
        policy['data']['LoadBalancingPolicy']['data']['pool'], ids['n1']
    )
    heir = {**connected(1), 'id': 'n9', 'name': 'n9'}

    reply = lab.check(after(SCALE_OUT, [policy], [*members[1:], heir], data=created('n9')))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_ids(lab)['n9']}}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_a_member_of_ours_that_octavia_could_not_set_up_is_set_up_again(lab, web):
    policy, members = web
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        next(iter(pool.values()))['provisioning_status'] = 'ERROR'
    members[0]['data'] = {}

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert decision(reply)['reason'] == '1 added'
    assert {member['provisioning_status'] for member in lab.settled()['member']} == {'ACTIVE'}


@pytest.mark.parametrize('batch_members', [True, False])
def test_two_nodes_with_one_address_cannot_both_join(batch_members):
    lab = Lab(batch_members=batch_members)
    policy, _ = lab.attached([])
    twin = {**connected(1), 'id': 'n2'}

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1), twin], data=created('n1', 'n2')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n2'] (n2: Node n1 has the same address)"
    )
    assert decision(reply)['details']['failed'] == {'n2': 'Node n1 has the same address'}
    assert lab.addresses() == ['10.0.0.1']


def test_a_pool_that_is_gone_is_told(lab, web):
    policy, members = web
    lab.store.__init__()

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
    assert reply['action']['data']['reason'] == (
        f"Failed in adding nodes into lb pool: ['n3'] (n3: Pool {pool} does not exist any more)"
    )
    assert decision(reply)['details']['failed'] == {'n3': f'Pool {pool} does not exist any more'}
    assert reply['nodes']['n3']['status'] == 'WARNING'


def test_a_binding_that_does_not_say_which_pool_is_told_before_the_cloud_is_asked(lab):
    asked = after(
        SCALE_OUT, [balancing_policy(pool={'subnet': 'none'})], [connected(1)], data=created('n1')
    )

    assert lab.check(asked)['action']['data']['reason'] == (
        'The binding holds no load balancer: attach the policy before it is checked.'
    )


def test_a_subnet_that_is_gone_is_told(lab, web):
    policy, members = web
    policy['spec']['properties']['pool']['subnet'] = 'none'

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n3'] (n3: The cloud has no subnet none, which the pool is of.)"
    )
    assert decision(reply)['details']['failed'] == {
        'n3': 'The cloud has no subnet none, which the pool is of.'
    }
    assert reply['nodes']['n3']['status'] == 'WARNING'


def test_the_node_of_the_action_is_newer_than_its_copy_among_the_clusters(lab, web):
    """The engine listed the nodes before this one had its server."""
    policy, members = web

    reply = lab.check(
        after(
            'NODE_CREATE',
            [policy],
            [*members[:2], node(3, status='CREATING')],
            node=connected(3, data={'x': 1}),
        )
    )

    assert reply['nodes'] == {'n3': {'data': {'x': 1, 'lb_member': member_ids(lab)['n3']}}}


class TestRecovered:
    """A node that was recovered: never added, created anew, or only healed."""

    def test_a_server_that_was_created_anew_takes_the_place_of_the_old_one(self, lab, web):
        policy, members = web
        old = member_ids(lab)['n1']
        again = {
            **connected(9),
            'id': 'n1',
            'name': 'n1',
            'data': {**members[0]['data'], 'recovery': 'RECREATE', 'x': 1},
        }

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again))

        assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
        assert member_ids(lab)['n1'] != old
        assert reply['nodes'] == {'n1': {'data': {'x': 1, 'lb_member': member_ids(lab)['n1']}}}
        assert decision(reply)['reason'] == '1 removed, 1 added'

    def test_a_server_that_was_created_anew_at_the_same_address_gets_a_new_member(self, lab, web):
        policy, members = web
        again = {**members[0], 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again))

        assert lab.addresses() == ['10.0.0.1', '10.0.0.2']
        new = member_ids(lab)['n1']
        assert new != members[0]['data']['lb_member']
        assert reply['nodes'] == {'n1': {'data': {'lb_member': new}}}

    def test_the_node_of_the_action_tells_of_it_though_its_copy_among_the_clusters_does_not(
        self, lab, web
    ):
        policy, members = web
        again = {
            **connected(9),
            'id': 'n1',
            'name': 'n1',
            'data': {**members[0]['data'], 'recovery': 'RECREATE'},
        }

        reply = lab.check(after(RECOVER, [policy], members, node=again))

        assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
        assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}

    @pytest.mark.parametrize('data', [{}, {'recovery': 'RECREATE'}, {'recovery': 'REBOOT'}])
    def test_a_member_that_the_node_does_not_know_of_does_not_outlive_its_server(
        self, lab, web, data
    ):
        policy, members = web
        again = {**connected(9), 'id': 'n1', 'name': 'n1', 'data': data}

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again))

        assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
        assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}

    @pytest.mark.parametrize('recovery', ['REBOOT', 'REBUILD', None])
    def test_a_server_that_was_healed_stays_where_it_is_and_recovery_is_dropped(
        self, lab, web, recovery
    ):
        policy, members = web
        healed = {**members[0], 'data': {**members[0]['data'], 'recovery': recovery}}
        lab.calls.clear()

        reply = lab.check(after(RECOVER, [policy], [healed, *members[1:]], node=healed))

        assert decision(reply)['outcome'] == 'SKIPPED'
        assert reply['nodes'] == {'n1': {'data': members[0]['data']}}
        assert not lab.calls

    def test_a_recovered_node_without_an_address_loses_its_old_member_and_fails(self, lab, web):
        policy, members = web
        again = node(1, data={**members[0]['data'], 'recovery': 'RECREATE'})

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again))

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

    def test_a_dry_run_says_what_it_would_take(self, lab, web):
        policy, members = web
        again = {**connected(9), 'id': 'n1', 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}
        before = lab.settled()

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again, dry_run=True))

        assert (
            decision(reply)['reason']
            == '1 to be removed, 1 to be added, in 2 updates; nothing was written'
        )
        assert lab.settled() == before
