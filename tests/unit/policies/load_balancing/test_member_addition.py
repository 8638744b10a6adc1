"""Adding members for created and recovered nodes, and the patches of nodes."""

import pytest

from placement_worker.cloud.ports import ApiError, OctaviaSettings
from placement_worker.cloud.time_budget import TimeBudget
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import Node, NodePatch
from placement_worker.errors import CloudUnavailable
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.member_change import MemberAddition, node_patch
from placement_worker.policies.load_balancing.policy import NO_NODES, NO_RECOVERY
from tests.factories import NOW, connected, load_balancing_policy, node
from tests.simulated_octavia import Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import (
    OURS,
    after,
    created,
    decision,
    ids_of,
    member_ids,
    recreated,
    refusal,
    status,
    stored,
    writes,
)

SCALE_OUT, RESIZE, RECOVER = 'CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE', 'NODE_RECOVER'
ADD_NODES, REPLACE = 'CLUSTER_ADD_NODES', 'CLUSTER_REPLACE_NODES'
FAILURE = 'Failed in adding node into lb pool.'
NO_MAP = 'Expected `object`, got `{}` - at `$.action.inputs.candidates` (old node id: new node id)'


def failed(reply, *node_ids):
    """Return the cause for the first of the nodes that failed; all have a warning."""
    text, _, cause = status(reply)[1].partition(f' ({node_ids[0]}: ')
    assert status(reply)[0] == 'ERROR'
    assert text == f'Failed in adding nodes into lb pool: {list(node_ids)}'
    assert decision(reply)['details']['failed'][node_ids[0]] == cause.removesuffix(')')
    return cause.removesuffix(')')


def recover(policy, members, one, **more):
    """Return the check after the recovery of the first node."""
    return after(RECOVER, [policy], [one, *members[1:]], node=one, **more)


@pytest.mark.parametrize(
    ('action', 'more', 'joined'),
    [
        (SCALE_OUT, {'data': created('n3', 'n4')}, ['n3', 'n4']),
        (ADD_NODES, {'data': created('n3')}, ['n3']),
        (RESIZE, {'data': created('n4', 'n3')}, ['n3', 'n4']),
        (REPLACE, {'inputs': {'candidates': {'n8': 'n3', 'n9': 'n4'}}}, ['n3', 'n4']),
        (REPLACE, {'inputs': {'candidates': {'n8': 'n3'}}, 'data': created('n4')}, ['n3']),
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
    assert (decision(reply)['details']['updates'], writes(lab)) == (1, ['update_members'])
    new = lab.settled()['member'][-1]
    assert (new['subnet_id'], new['tags'][:2]) == ('sub1', OURS)


def test_check_details_count_nodes_calls_and_updates(lab, scaled_out):
    """The details of the decision list nodes, calls, updates and the time spent waiting."""
    policy, members = scaled_out
    lab.calls.clear()

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3', 'n1')))

    details = decision(reply)['details']
    assert details == {
        'pool': ids_of(policy)['pool'],
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
    ('action', 'more', 'reason', 'warnings'),
    [
        (SCALE_OUT, {}, 'No node was created.', [NO_NODES]),
        (SCALE_OUT, {'data': {'creation': {'count': 2}}}, 'No node was created.', [NO_NODES]),
        (RESIZE, {'data': {'creation': {'count': 2}}}, 'No node was created.', [NO_NODES]),
        (ADD_NODES, {}, 'No node was created.', [NO_NODES]),
        (SCALE_OUT, {'data': created()}, 'No node was created.', []),
        (SCALE_OUT, {'data': {'creation': {'count': 1, 'nodes': []}}}, 'No node was created.', []),
        (SCALE_OUT, {'data': {'creation': {'count': 0}}}, 'No node was created.', []),
        (RESIZE, {}, 'No node was created.', []),
        (RESIZE, {'data': {'deletion': {'count': 1}}}, 'No node was created.', []),
        (
            SCALE_OUT,
            {'data': created('n3'), 'inputs': {'action_result': 'ERROR'}},
            'The action did not succeed.',
            [],
        ),
        (
            'NODE_CREATE',
            {'node': connected(3), 'inputs': {'action_result': 'TIMEOUT'}},
            'The action did not succeed.',
            [],
        ),
    ],
)
def test_check_without_new_nodes_is_skipped_without_a_call(
    lab, scaled_out, action, more, reason, warnings
):
    """An action that adds no node is skipped; an engine that forgot to list nodes is warned."""
    policy, members = scaled_out
    lab.calls.clear()

    reply = lab.check(after(action, [policy], members, **more))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == ('SKIPPED', reason)
    assert (reply['nodes'], reply['warnings'], lab.calls) == ({}, warnings, [])


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        (REPLACE, {'inputs': {'candidates': ['n3']}}, NO_MAP.format('array')),
        (REPLACE, {}, NO_MAP.format('null')),
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

    assert status(lab.check(after(action, [policy], members, **more))) == ('ERROR', reason)
    assert len(lab.addresses()) == 2


def test_unknown_node_fails_and_the_others_become_members(lab, scaled_out):
    """An id that no node of the cluster has fails, and the other nodes become members."""
    policy, members = scaled_out

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n9', 'n3')))

    assert failed(reply, 'n9') == 'The cluster has no such node'
    assert reply['nodes'] == {'n3': {'data': {'lb_member': member_ids(lab)['n3']}}}


def test_deleted_pool_fails_all_nodes(lab, scaled_out):
    """All nodes fail if the pool no longer exists, and the cause names the pool."""
    policy, members = scaled_out
    lab.store.__init__()

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert failed(reply, 'n3') == f'Pool {ids_of(policy)["pool"]} does not exist any more'
    assert reply['nodes']['n3']['status'] == 'WARNING'


def test_deleted_subnet_fails_all_nodes(lab, scaled_out):
    """All nodes fail if the subnet of the pool no longer exists."""
    policy, members = scaled_out
    policy['spec']['properties']['pool']['subnet'] = 'none'

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n3')))

    assert failed(reply, 'n3') == 'Subnet none of `pool.subnet` does not exist in the cloud.'
    assert reply['nodes']['n3']['status'] == 'WARNING'


@pytest.mark.parametrize(
    'data',
    [
        {},
        {'LoadBalancingPolicy': None},
        {'LoadBalancingPolicy': {'data': []}},
        stored('1.1', loadbalancer='lb'),
        stored('1.1', pool='p'),
        stored('1.1', loadbalancer='lb', pool=5),
    ],
)
@pytest.mark.parametrize('target', ['BEFORE', 'AFTER'])
def test_binding_without_a_pool_is_refused_without_a_call(lab, data, target):
    """A binding that stores no pool is refused without a call to the cloud."""
    policy = load_balancing_policy(pool={'subnet': 'none'}, data=data)
    action = 'CLUSTER_RESIZE' if target == 'AFTER' else 'CLUSTER_SCALE_IN'
    asked = after(action, [policy], [connected(1)], data=created('n1') if target == 'AFTER' else {})

    assert status(lab.check({**asked, 'target': target})) == (
        'ERROR',
        'The binding holds no load balancer: attach the policy before it is checked.',
    )
    assert lab.calls == []


@pytest.mark.parametrize('broken', ['members', 'show', 'subnet', 'servers'])
def test_failed_lookup_marks_all_new_nodes(lab, broken):
    """If pool, load balancer or addresses cannot be looked up, all new nodes get a warning."""
    _, pool = lab.foreign()
    policy, _ = lab.attached([], loadbalancer='front', pool={'id': pool})
    ids_of(policy)['loadbalancer'] = 'front'  # as Senlin has stored it

    def away(*_):
        raise CloudUnavailable('Compute service unavailable')

    if broken in ('members', 'show'):
        lab.around = refusal(broken, error=ApiError('busy', 503))
        cause = 'Octavia responded with status 503: busy'
    else:
        setattr(lab, broken, away)
        cause = 'Compute service unavailable'
    new = node(3, physical_id='s3', data={'x': 1})
    asked = after(ADD_NODES, [policy], [new], data=created('n9', 'n3'))

    reply = lab.check(asked)
    dry = lab.check({**asked, 'dry_run': True})

    assert failed(reply, 'n9', 'n3') == 'The cluster has no such node'
    details = decision(reply)['details']
    assert details['failed'] == {'n3': cause, 'n9': 'The cluster has no such node'}
    assert (details['pool'], details['updates']) == (ids_of(policy)['pool'], 0)
    marked = {'data': {'x': 1}, 'status': 'WARNING', 'status_reason': FAILURE}
    assert reply['nodes'] == {'n3': marked}
    assert (status(dry)[0], dry['nodes']) == ('ERROR', {})


@pytest.mark.parametrize('action', ['CLUSTER_ADD_NODES', SCALE_OUT])
def test_repeated_check_after_a_failed_one_makes_the_nodes_active(lab, scaled_out, action):
    """The warning of a failed check ends with the check that adds the member."""
    policy, members = scaled_out
    without_address = [*members[:2], *({**one, 'details': {}} for one in members[2:])]
    refused = lab.check(after(SCALE_OUT, [policy], without_address, data=created('n3', 'n4')))
    marked = patched(members, refused)
    assert [one['status'] for one in marked] == ['ACTIVE', 'ACTIVE', 'WARNING', 'WARNING']

    reply = lab.check(after(action, [policy], marked, data=created('n1', 'n3', 'n4')))

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
    members[0] |= {'status': 'WARNING', 'status_reason': FAILURE}

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert reply['nodes']['n1']['status'] == 'ACTIVE'


def test_node_of_the_action_replaces_its_copy_in_the_cluster(lab, scaled_out):
    """The address of the action's node is used, even if the cluster lists the node without one."""
    policy, members = scaled_out
    listed, new = node(3, status='CREATING'), connected(3, data={'x': 1})

    reply = lab.check(after('NODE_CREATE', [policy], [*members[:2], listed], node=new))

    assert reply['nodes'] == {'n3': {'data': {'x': 1, 'lb_member': member_ids(lab)['n3']}}}
    assert reply['warnings'] == []


def test_node_whose_member_is_gone_gets_a_new_member(lab, scaled_out):
    """A node whose stored member no longer exists gets a new one."""
    policy, members = scaled_out
    members[0]['data']['lb_member'] = 'long-gone'
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        del pool[next(iter(pool))]

    reply = lab.check(after(SCALE_OUT, [policy], members, data=created('n1')))

    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


def test_node_without_stored_member_adopts_the_tagged_one(lab, scaled_out):
    """A node whose data names no member adopts the one with its tag."""
    policy, members = scaled_out
    without_data = [{**one, 'data': {'x': 1}} for one in members]
    lab.calls.clear()

    reply = lab.check(after(SCALE_OUT, [policy], without_data, data=created('n1', 'n2')))

    assert reply['nodes'] == {
        name: {'data': {'x': 1, 'lb_member': id_}} for name, id_ in member_ids(lab).items()
    }
    assert writes(lab) == []


def test_foreign_member_at_the_address_is_neither_added_nor_adopted(lab):
    """A member of another client at that address stays as it is, and is not recorded."""
    lb, pool = lab.foreign('10.0.0.1')
    policy, _ = lab.attached([], loadbalancer=lb, pool={'id': pool})
    before = lab.settled()

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1)], data=created('n1')))

    assert decision(reply)['reason'] == '1 in the pool already'
    assert (reply['nodes'], lab.settled()) == ({}, before)


def test_member_that_is_being_deleted_does_not_count_as_present(lab, scaled_out):
    """A member that is being deleted does not count as present: a new node gets its own."""
    policy, members = scaled_out
    lab.octavia(None).delete_member(ids_of(policy)['pool'], member_ids(lab)['n1'])
    reusing = {**connected(1), 'id': 'n9', 'name': 'n9'}

    reply = lab.check(after(SCALE_OUT, [policy], [*members[1:], reusing], data=created('n9')))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_ids(lab)['n9']}}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_member_in_error_is_updated_again(lab, scaled_out):
    """A member of the policy that is not ACTIVE is sent to Octavia again."""
    policy, members = scaled_out
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

    assert failed(reply, 'n2') == 'Node n1 has the same address'
    assert lab.addresses() == ['10.0.0.1']


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
    listed = lab.octavia(None).members(pool_id)
    nodes = [
        Node(id=Id(f'n{number}'), data={'lb_member': one['id']})
        for number, one in enumerate(listed)
    ]
    state = State(ActionData({}), None, count, NOW)
    updater = Updater(lab.octavia(None), OctaviaSettings(), TimeBudget(60, lab.clock), '')

    pool = Pool(updater, 'lb', pool_id, ['x'])
    outcome = MemberAddition(state, nodes).run(pool, lambda nodes: ([], {}))

    assert outcome.reason == f'{count} in the pool already'
    assert Id.compared < 10 * count


@pytest.mark.parametrize(
    ('batch', 'more', 'reason', 'details'),
    [
        (
            True,
            {'data': created('n3', 'n4')},
            '2 to be added, in 1 update',
            {'added': ['n3', 'n4']},
        ),
        (False, {'data': created('n3', 'n4')}, '2 to be added, in 2 updates', {'updates': 2}),
        (
            True,
            {'data': created('n1')},
            '1 in the pool already, in 0 updates',
            {'already_there': ['n1'], 'updates': 0},
        ),
        (
            True,
            {'data': created('n3', 'n5')},
            '1 to be added, in 1 update',
            {
                'added': ['n3'],
                'failed': {
                    'n5': 'The node has no address of IP version 4 on network private of subnet '
                    'private-subnet'
                },
            },
        ),
    ],
)
def test_dry_run_reports_the_updates_of_the_real_run(batch, more, reason, details):
    """A dry run reports the changes and the updates that the real run takes, and writes nothing."""
    lab = Lab(batch_members=batch)
    policy, members = lab.attached([connected(1), connected(2)])
    members = [*members, connected(3), connected(4), node(5)]
    asked = after(SCALE_OUT, [policy], members, **more)
    lab.calls.clear()

    reply = lab.check({**asked, 'dry_run': True})

    found = decision(reply)
    assert (found['outcome'], found['reason']) == ('APPLIED', f'{reason}; nothing was written')
    assert found['details']['api_calls'] == len(lab.calls)
    assert found['details']['estimated_s'] == found['details']['updates']
    assert {key: found['details'][key] for key in details} == details
    assert (writes(lab), reply['nodes'], len(lab.addresses())) == ([], {}, 2)

    really = decision(lab.check(asked))['details']
    same = ('added', 'removed', 'already_there', 'passed_over', 'failed', 'updates')
    assert {key: really[key] for key in same} == {key: found['details'][key] for key in same}


@pytest.mark.parametrize('number', [9, 1], ids=['another address', 'the same address'])
def test_recreated_server_replaces_the_member(lab, scaled_out, number):
    """A recreated server gets a new member; that of the old server is removed."""
    policy, members = scaled_out
    old = member_ids(lab)['n1']

    reply = lab.check(recover(policy, members, recreated(members[0], number, x=1)))

    assert lab.addresses() == sorted(['10.0.0.2', f'10.0.0.{number}'])
    assert member_ids(lab)['n1'] != old
    assert reply['nodes'] == {'n1': {'data': {'x': 1, 'lb_member': member_ids(lab)['n1']}}}
    assert decision(reply)['reason'] == '1 removed, 1 added'


def test_node_of_the_action_takes_precedence_over_the_node_of_the_cluster(lab, scaled_out):
    """The data of the action's node decide, not those of the same node in the cluster."""
    policy, members = scaled_out

    reply = lab.check(after(RECOVER, [policy], members, node=recreated(members[0])))

    assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


@pytest.mark.parametrize('data', [{}, {'recovery': 'RECREATE'}, {'recovery': 'REBOOT'}])
def test_recreated_server_without_stored_member_loses_the_tagged_one(lab, scaled_out, data):
    """The tagged member of an old server is removed even if the node's data names none."""
    policy, members = scaled_out

    reply = lab.check(recover(policy, members, {**recreated(members[0]), 'data': data}))

    assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
    assert reply['nodes'] == {'n1': {'data': {'lb_member': member_ids(lab)['n1']}}}


@pytest.mark.parametrize(
    ('inputs', 'recovery', 'warnings'),
    [
        ({}, {'recovery': 'REBOOT'}, []),
        ({}, {'recovery': None}, []),
        ({}, {}, []),
        ({'operation': 'RECREATE'}, {}, [NO_RECOVERY]),
        ({'operation': 'RECREATE'}, {'recovery': 'REBOOT'}, []),
        ({'operation': 'REBOOT'}, {}, []),
    ],
)
def test_recovered_server_keeps_its_member_and_drops_recovery(
    lab, scaled_out, inputs, recovery, warnings
):
    """A server that is the same keeps its member; a recreation that is not marked is a warning."""
    policy, members = scaled_out
    healed = {**members[0], 'data': {**members[0]['data'], **recovery}}
    lab.calls.clear()

    reply = lab.check(recover(policy, members, healed, inputs=inputs))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == (
        'SKIPPED', 'The node is in the pool, and was not created again.',
    )  # fmt: skip
    assert reply['nodes'] == ({'n1': {'data': members[0]['data']}} if recovery else {})
    assert (reply['warnings'], lab.calls) == (warnings, [])


def test_recreated_node_without_address_loses_its_member_and_fails(lab, scaled_out):
    """A recreated node without an address fails, and its old member is removed."""
    policy, members = scaled_out

    reply = lab.check(recover(policy, members, {**recreated(members[0]), 'details': {}}))

    assert failed(reply, 'n1').startswith('The node has no address')
    assert reply['nodes'] == {'n1': {'data': {}, 'status': 'WARNING', 'status_reason': FAILURE}}
    assert lab.addresses() == ['10.0.0.2']


def test_failed_listing_keeps_the_member_of_a_recovered_node(lab, scaled_out):
    """If the members cannot be listed, a recovered node keeps its member and gets a warning."""
    policy, members = scaled_out
    lab.around = refusal('members')

    reply = lab.check(recover(policy, members, recreated(members[0])))

    assert reply['nodes']['n1']['data'] == members[0]['data']
    assert reply['nodes']['n1']['status'] == 'WARNING'


def test_dry_run_of_a_recreation_reports_the_planned_updates(lab, scaled_out):
    """A dry run reports the changes and the number of updates, and changes nothing."""
    policy, members = scaled_out
    before = lab.settled()

    reply = lab.check(recover(policy, members, recreated(members[0]), dry_run=True))

    assert decision(reply)['reason'] == (
        '1 to be removed, 1 to be added, in 2 updates; nothing was written'
    )
    assert lab.settled() == before


STATE = State({}, None, 10, NOW, nodes={'n2': NodePatch({'b': 2})})


@pytest.mark.parametrize(
    ('node', 'change', 'data'),
    [
        (Node('n1', data={'a': 1}), {'member_id': 'm1'}, {'a': 1, 'lb_member': 'm1'}),
        (Node('n1', data={'lb_member': 'm0'}), {'member_id': 'm1'}, {'lb_member': 'm1'}),
        (Node('n1', data={'a': 1, 'recovery': 'x'}), {'outdated': ('recovery',)}, {'a': 1}),
        (Node('n2', data={'b': 0}), {'member_id': 'm1'}, {'b': 2, 'lb_member': 'm1'}),
    ],
)
def test_patches_of_changed_data_continue_earlier_patches(node, change, data):
    """A patch has the whole new data, based on the patches of earlier policies."""
    assert node_patch(STATE, node, **change) == {node.id: NodePatch(data)}


@pytest.mark.parametrize('change', [{}, {'member_id': 'm1'}, {'outdated': ('recovery',)}])
def test_patches_of_unchanged_data_are_omitted(change):
    """A node whose data stay the same gets no patch."""
    assert node_patch(STATE, Node('n1', data={'lb_member': 'm1'}), **change) == {}


@pytest.mark.parametrize(
    ('status', 'reason', 'expected'),
    [
        ('ACTIVE', 'Created', ('WARNING', FAILURE)),
        ('WARNING', None, ('WARNING', FAILURE)),
        ('WARNING', 'No ping', ('WARNING', f'No ping. {FAILURE}')),
        ('WARNING', FAILURE, ('WARNING', FAILURE)),
        ('ERROR', None, ('ERROR', FAILURE)),
        ('ERROR', 'No host. ', ('ERROR', f'No host. {FAILURE}')),
        ('ERROR', f'No host. {FAILURE}', ('ERROR', f'No host. {FAILURE}')),
    ],
)
def test_patches_of_failed_node_keep_an_earlier_reason(status, reason, expected):
    """A failed node gets a warning; an unhealthy node keeps its status and its reason."""
    node = Node('n1', data={'a': 1}, status=status, status_reason=reason)

    assert node_patch(STATE, node, failure=FAILURE) == {'n1': NodePatch({'a': 1}, *expected)}


def test_patch_of_repaired_node_makes_it_active():
    """A warning of an earlier failure ends when the node has a member, old or new."""
    node = Node('n1', data={'lb_member': 'm1'}, status='WARNING', status_reason=FAILURE)

    assert node_patch(STATE, node, repaired=FAILURE) == {
        'n1': NodePatch({'lb_member': 'm1'}, 'ACTIVE', 'Succeeded in adding node into lb pool.')
    }


@pytest.mark.parametrize(
    ('status', 'reason'),
    [
        ('WARNING', None),
        ('WARNING', f'No ping. {FAILURE}'),
        ('ERROR', FAILURE),
        ('ACTIVE', FAILURE),
    ],
)
def test_patch_of_node_with_another_status_or_reason_keeps_its_status(status, reason):
    """Only the warning that the policy has written itself ends."""
    node = Node('n1', data={}, status=status, status_reason=reason)

    assert node_patch(STATE, node, member_id='m1', repaired=FAILURE) == {
        'n1': NodePatch({'lb_member': 'm1'})
    }
