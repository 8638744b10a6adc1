"""Tests for adding the members of new nodes."""

import pytest

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import Node
from placement_worker.octavia.member_ownership import Ownership
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.member_addition import MemberAddition
from placement_worker.policies.load_balancing.node_addresses import ResolvedMembers
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
def test_new_nodes_become_members_in_one_update(lab, web, action, more, joined):
    """All new nodes become members in one update, and their data holds the ids."""
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


def test_check_details_count_nodes_calls_and_updates(lab, web):
    """The details of the decision list nodes, calls, updates and the time spent waiting."""
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
def test_check_without_new_nodes_is_skipped_without_a_call(lab, web, action, more, reason):
    """An action that adds no node is skipped without a call to Octavia."""
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
def test_invalid_data_of_the_action_is_refused_with_its_path(lab, web, action, more, reason):
    """Data of the wrong type are refused, and the text names the path."""
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
def test_failed_node_in_error_keeps_its_status_and_reason(lab, web, before, kept):
    """A node in ERROR keeps this status, and its reason gains the failure once."""
    policy, members = web
    members[2] = node(3, status='ERROR', status_reason=before)

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert reply['nodes'] == {'n3': {'data': {}, 'status': 'ERROR', 'status_reason': kept}}


def test_unknown_node_fails_and_the_others_become_members(lab, web):
    """An id that no node of the cluster has fails, and the other nodes become members."""
    policy, members = web

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n9', 'n3')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n9'] (n9: The cluster has no such node)"
    )
    assert decision(reply)['details']['failed'] == {'n9': 'The cluster has no such node'}
    assert reply['nodes'] == {'n3': {'data': {'lb_member': member_ids(lab)['n3']}}}


def test_node_whose_member_is_gone_gets_a_new_member(lab, web):
    """A node whose stored member no longer exists gets a new one."""
    policy, members = web
    members[0]['data']['lb_member'] = 'long-gone'
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        del pool[next(iter(pool))]

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


def test_node_without_stored_member_adopts_the_tagged_one(lab, web):
    """A node whose data names no member adopts the one with its tag."""
    policy, members = web
    forgetful = [{**one, 'data': {'x': 1}} for one in members]
    before = member_ids(lab)
    lab.calls.clear()

    reply = lab.check(after(SCALE_OUT, [policy], forgetful, data=created('n1', 'n2')))

    assert reply['nodes'] == {
        name: {'data': {'x': 1, 'lb_member': id_}} for name, id_ in before.items()
    }
    assert not any(call.writes for call in lab.calls)


def test_foreign_member_at_the_address_is_neither_added_nor_adopted(lab):
    """If the pool already has a foreign member at that address, the policy neither adds nor
    adopts it.
    """
    lb, pool = lab.foreign('10.0.0.1')
    policy, _ = lab.attached([], loadbalancer=lb, pool={'id': pool})
    before = lab.settled()

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1)], data=created('n1')))

    assert decision(reply)['reason'] == '1 in the pool already'
    assert reply['nodes'] == {}
    assert lab.settled() == before


def test_member_that_is_being_deleted_does_not_count_as_present(lab, web):
    """A member that is being deleted does not count as present: a new node gets its own."""
    policy, members = web
    ids = member_ids(lab)
    lab.octavia(None).delete_member(
        policy['data']['LoadBalancingPolicy']['data']['pool'], ids['n1']
    )
    heir = {**connected(1), 'id': 'n9', 'name': 'n9'}

    reply = lab.check(after(SCALE_OUT, [policy], [*members[1:], heir], data=created('n9')))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_ids(lab)['n9']}}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_member_in_error_is_updated_again(lab, web):
    """A member of the policy that is not ACTIVE is sent to Octavia again."""
    policy, members = web
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        next(iter(pool.values()))['provisioning_status'] = 'ERROR'
    members[0]['data'] = {}

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert decision(reply)['reason'] == '1 added'
    assert {member['provisioning_status'] for member in lab.settled()['member']} == {'ACTIVE'}


@pytest.mark.parametrize('batch_members', [True, False])
def test_second_node_with_the_same_address_fails(batch_members):
    """Of two nodes with the same address the second one fails."""
    lab = Lab(batch_members=batch_members)
    policy, _ = lab.attached([])
    twin = {**connected(1), 'id': 'n2'}

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1), twin], data=created('n1', 'n2')))

    assert reply['action']['data']['reason'] == (
        "Failed in adding nodes into lb pool: ['n2'] (n2: Node n1 has the same address)"
    )
    assert decision(reply)['details']['failed'] == {'n2': 'Node n1 has the same address'}
    assert lab.addresses() == ['10.0.0.1']


def test_deleted_pool_fails_all_nodes(lab, web):
    """All nodes fail if the pool no longer exists, and the cause names the pool."""
    policy, members = web
    lab.store.__init__()

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    pool = policy['data']['LoadBalancingPolicy']['data']['pool']
    assert reply['action']['data']['reason'] == (
        f"Failed in adding nodes into lb pool: ['n3'] (n3: Pool {pool} does not exist any more)"
    )
    assert decision(reply)['details']['failed'] == {'n3': f'Pool {pool} does not exist any more'}
    assert reply['nodes']['n3']['status'] == 'WARNING'


def test_binding_without_a_pool_is_refused_without_a_call(lab):
    """A binding that stores no pool is refused without a call to the cloud."""
    asked = after(
        SCALE_OUT, [balancing_policy(pool={'subnet': 'none'})], [connected(1)], data=created('n1')
    )

    assert lab.check(asked)['action']['data']['reason'] == (
        'The binding holds no load balancer: attach the policy before it is checked.'
    )


def test_deleted_subnet_fails_all_nodes(lab, web):
    """All nodes fail if the subnet of the pool no longer exists."""
    policy, members = web
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


def test_node_of_the_action_replaces_its_copy_in_the_cluster(lab, web):
    """The address of the action's node is used, even if the cluster lists the node without one."""
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
    """Recovered nodes: without a member, recreated, or with the same server."""

    def test_recreated_server_replaces_the_member(self, lab, web):
        """The member of a recreated server replaces the one of the old server."""
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

    def test_recreated_server_with_the_same_address_gets_a_new_member(self, lab, web):
        """A recreated server gets a new member even if it has the address of the old server."""
        policy, members = web
        again = {**members[0], 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again))

        assert lab.addresses() == ['10.0.0.1', '10.0.0.2']
        new = member_ids(lab)['n1']
        assert new != members[0]['data']['lb_member']
        assert reply['nodes'] == {'n1': {'data': {'lb_member': new}}}

    def test_node_of_the_action_takes_precedence_over_the_node_of_the_cluster(self, lab, web):
        """The data of the action's node decide, not those of the same node in the cluster."""
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
    def test_recreated_server_without_stored_member_loses_the_tagged_one(self, lab, web, data):
        """The tagged member of an old server is removed even if the node's data names none."""
        policy, members = web
        again = {**connected(9), 'id': 'n1', 'name': 'n1', 'data': data}

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again))

        assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
        assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}

    @pytest.mark.parametrize('recovery', ['REBOOT', 'REBUILD', None])
    def test_recovered_server_keeps_its_member_and_drops_recovery(self, lab, web, recovery):
        """A server that was recovered without recreation keeps its member, and `recovery` is
        dropped.
        """
        policy, members = web
        healed = {**members[0], 'data': {**members[0]['data'], 'recovery': recovery}}
        lab.calls.clear()

        reply = lab.check(after(RECOVER, [policy], [healed, *members[1:]], node=healed))

        assert decision(reply)['outcome'] == 'SKIPPED'
        assert reply['nodes'] == {'n1': {'data': members[0]['data']}}
        assert not lab.calls

    def test_recreated_node_without_address_loses_its_member_and_fails(self, lab, web):
        """A recreated node without an address fails, and its old member is removed."""
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

    def test_dry_run_reports_the_planned_updates(self, lab, web):
        """A dry run reports the changes and the number of updates, and changes nothing."""
        policy, members = web
        again = {**connected(9), 'id': 'n1', 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}
        before = lab.settled()

        reply = lab.check(after(RECOVER, [policy], [again, *members[1:]], node=again, dry_run=True))

        assert (
            decision(reply)['reason']
            == '1 to be removed, 1 to be added, in 2 updates; nothing was written'
        )
        assert lab.settled() == before


class Id(str):
    """An id that counts how often it is compared with others."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Id.compared += 1
        return str.__eq__(self, other)


def test_run_with_all_members_present_takes_linear_time():
    """Each node is compared with a constant number of others if all are members already."""
    count = 500
    lab = Lab()
    _, pool_id = lab.foreign(*(f'10.0.{number // 250}.{number % 250}' for number in range(count)))
    shown = lab.octavia(None).members(pool_id)
    nodes = [
        Node(id=Id(f'n{number}'), data={'lb_member': one['id']}) for number, one in enumerate(shown)
    ]
    state = State(ActionData({}), None, count)
    updater = Updater(lab.octavia(None), OctaviaSettings(), TimeBudget(60, lab.clock), '')

    pool = Pool(updater, 'lb', pool_id, None, Ownership(['x']))
    outcome = MemberAddition(state, nodes).run(pool, ResolvedMembers({}))

    assert outcome.reason == f'{count} in the pool already'
    assert Id.compared < 10 * count
