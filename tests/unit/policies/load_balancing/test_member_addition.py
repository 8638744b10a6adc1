"""Adding members for created and recovered nodes, and the patches of nodes."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Node, NodePatch
from placement_worker.errors import CloudUnavailable
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.member_change import node_patch
from placement_worker.policies.load_balancing.policy import NO_NODES, NO_RECOVERY
from tests.factories import NOW, connected, load_balancing_policy, node
from tests.simulated_octavia import Lab, patched
from tests.unit.policies.load_balancing.building_blocks import (
    FORBIDDEN,
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
REPAIRED = {'status': 'ACTIVE', 'status_reason': 'Succeeded in adding node into lb pool.'}
NONE, FAILED = 'No node was created.', 'The action did not succeed.'
NO_ADDRESS = 'The node has no address of IP version 4 on network private of subnet private-subnet'


def failed(reply, *node_ids):
    """Return the cause for the first of the nodes that failed; all have a warning."""
    text, _, cause = status(reply)[1].partition(f' ({node_ids[0]}: ')
    assert status(reply)[0] == 'ERROR'
    assert text == f'Failed in adding nodes into lb pool: {list(node_ids)}'
    assert decision(reply)['details']['failed'][node_ids[0]] == cause.removesuffix(')')
    return cause.removesuffix(')')


def recover(policy, members, one, **more):
    """Return the check after the recovery of a node, which the cluster lists as it was before."""
    return after(RECOVER, [policy], members, node=one, **more)


@pytest.mark.parametrize(
    ('action', 'more', 'joined'),
    [
        (RESIZE, {'data': created('n4', 'n3')}, ['n3', 'n4']),
        (REPLACE, {'inputs': {'candidates': {'n8': 'n3'}}, 'data': created('n4')}, ['n3']),
        (RECOVER, {'node': connected(3)}, ['n3']),
        (SCALE_OUT, {'data': created('n3'), 'inputs': {'action_result': 'OK'}}, ['n3']),
        (SCALE_OUT, {'data': created('n3'), 'inputs': {'action_result': None}}, ['n3']),
    ],
)
def test_new_nodes_become_members_in_one_update(lab, scaled_out, action, more, joined):
    """All new nodes become members in one update, their data holds the ids, and the details count
    nodes, calls and the time spent waiting.
    """
    policy, members = scaled_out
    lab.calls.clear()
    began = lab.clock()

    reply = lab.check(after(action, [policy], members, **more))

    assert reply['action']['data'] == {
        **more.get('data', {}), 'status': 'OK', 'reason': 'Completed policy checking.',
    }  # fmt: skip
    ids = member_ids(lab)
    assert sorted(ids) == sorted(['n1', 'n2', *joined])
    assert reply['nodes'] == {node_id: {'data': {'lb_member': ids[node_id]}} for node_id in joined}
    assert decision(reply)['reason'] == f'{len(joined)} added'
    details = decision(reply)['details']
    assert sorted(details.pop('added')) == joined
    assert details == {
        'pool': ids_of(policy)['pool'],
        'removed': [],
        'already_there': [],
        'passed_over': [],
        'failed': {},
        'api_calls': len(lab.calls),
        'updates': 1,
        'waited_s': round(lab.clock() - began, 3),
    }
    assert writes(lab) == ['update_members']
    new = lab.settled()['member'][-1]
    assert (new['subnet_id'], new['tags'][:2]) == ('sub1', OURS)


@pytest.mark.parametrize(
    ('action', 'more', 'reason', 'warnings'),
    [
        (SCALE_OUT, {}, NONE, [NO_NODES]),
        (SCALE_OUT, {'data': {'creation': {'count': 2}}}, NONE, [NO_NODES]),
        (RESIZE, {'data': {'creation': {'count': 2}}}, NONE, [NO_NODES]),
        (RESIZE, {'data': {'creation': {}}}, NONE, [NO_NODES]),
        (ADD_NODES, {}, NONE, [NO_NODES]),
        (SCALE_OUT, {'data': created()}, NONE, []),
        (SCALE_OUT, {'data': {'creation': {'count': 1, 'nodes': []}}}, NONE, []),
        (SCALE_OUT, {'data': {'creation': {'count': 0}}}, NONE, []),
        (RESIZE, {}, NONE, []),
        (SCALE_OUT, {'data': created('n3'), 'inputs': {'action_result': 'ERROR'}}, FAILED, []),
        ('NODE_CREATE', {'node': connected(3), 'inputs': {'action_result': 'x'}}, FAILED, []),
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
    'data',
    [
        {},
        {'LoadBalancingPolicy': None},
        {'LoadBalancingPolicy': {'data': [1]}},
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
    policy, _ = lab.attached([], **lab.existing())
    ids_of(policy)['loadbalancer'] = 'front'  # as Senlin has stored it

    def away(*_):
        raise CloudUnavailable('Compute service unavailable')

    if broken in ('members', 'show'):
        lab.around = refusal(broken, error=ApiError('busy', 503))
        cause = 'Octavia responded with status 503: busy, after 10 attempts in 27 s'
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


def test_repeated_check_after_a_failed_one_makes_the_nodes_active(lab, scaled_out):
    """The warning of a failed check ends if the node has a member, old or new."""
    policy, members = scaled_out
    without_address = [*members[:2], *({**one, 'details': {}} for one in members[2:])]
    refused = lab.check(after(SCALE_OUT, [policy], without_address, data=created('n3', 'n4')))
    marked = patched(members, refused)
    assert [one['status'] for one in marked] == ['ACTIVE', 'ACTIVE', 'WARNING', 'WARNING']
    marked[0] |= {'status': 'WARNING', 'status_reason': FAILURE}

    reply = lab.check(after(SCALE_OUT, [policy], marked, data=created('n1', 'n2', 'n3', 'n4')))

    assert reply['nodes'] == {
        name: {'data': {'lb_member': member_ids(lab)[name]}, **REPAIRED}
        for name in ('n1', 'n3', 'n4')
    }


def test_node_of_the_action_replaces_its_copy_in_the_cluster(lab, scaled_out):
    """The address of the action's node is used, even if the cluster lists the node without one."""
    policy, members = scaled_out
    listed, new = node(3, status='CREATING'), connected(3, data={'x': 1})

    reply = lab.check(after('NODE_CREATE', [policy], [*members[:2], listed], node=new))

    assert reply['nodes'] == {'n3': {'data': {'x': 1, 'lb_member': member_ids(lab)['n3']}}}
    assert reply['warnings'] == []


def test_foreign_member_at_the_address_is_neither_added_nor_adopted(lab):
    """A member of another client at that address stays as it is, and a warning names it."""
    policy, _ = lab.attached([], **lab.existing('10.0.0.1'))
    before = lab.settled()

    reply = lab.check(after(SCALE_OUT, [policy], [connected(1)], data=created('n1')))

    details = decision(reply)['details']
    assert (details['passed_over'], details['already_there']) == (['n1'], [])
    assert f'its address has member {member_ids(lab)["foreign"]}' in reply['warnings'][0]
    assert (reply['nodes'], lab.settled()) == ({}, before)


def test_member_that_is_being_deleted_does_not_count_as_present(lab, scaled_out):
    """A member that is being deleted does not count as present: a new node gets its own."""
    policy, members = scaled_out
    lab.octavia(None).delete_member(ids_of(policy)['pool'], member_ids(lab)['n1'])
    reusing = {**connected(1), 'id': 'n9', 'name': 'n9'}

    reply = lab.check(after(SCALE_OUT, [policy], [*members[1:], reusing], data=created('n9')))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_ids(lab)['n9']}}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


@pytest.mark.parametrize(
    ('batch', 'node_ids', 'reason', 'details'),
    [
        (True, ['n3', 'n4'], '2 to be added, in 1 update', {'added': ['n3', 'n4']}),
        (False, ['n3', 'n4'], '2 to be added, in 2 updates', {'updates': 2}),
        (True, ['n1'], '1 in the pool already, in 0 updates', {'already_there': ['n1']}),
        (True, ['n3', 'n5', 'n9'], '1 to be added, in 1 update',
         {'failed': {'n5': NO_ADDRESS, 'n9': 'The cluster has no such node'}}),
    ],
)  # fmt: skip
def test_dry_run_reports_the_updates_of_the_real_run(batch, node_ids, reason, details):
    """A dry run reports the changes and the updates that the real run takes, and writes nothing."""
    lab = Lab(batch_members=batch)
    policy, members = lab.attached([connected(1), connected(2)])
    members = [*members, connected(3), connected(4), node(5)]
    asked = after(SCALE_OUT, [policy], members, data=created(*node_ids))
    lab.calls.clear()

    reply = lab.check({**asked, 'dry_run': True})

    found = decision(reply)
    assert (found['outcome'], found['reason']) == ('APPLIED', f'{reason}; nothing was written')
    assert found['details']['api_calls'] == len(lab.calls)
    assert found['details']['estimated_s'] == found['details']['updates']
    assert found['details'] == {**found['details'], **details}
    assert (writes(lab), reply['nodes'], len(lab.addresses())) == ([], {}, 2)

    really = decision(lab.check(asked))['details']
    same = ('added', 'removed', 'already_there', 'passed_over', 'failed', 'updates')
    assert {key: really[key] for key in same} == {key: found['details'][key] for key in same}


def test_recreated_server_with_another_address_replaces_the_member(lab, scaled_out):
    """A recreated server gets a new member; that of the old server is removed."""
    policy, members = scaled_out
    old = member_ids(lab)['n1']
    asked = recover(policy, members, recreated(members[0], x=1))

    planned = decision(lab.check({**asked, 'dry_run': True}))['reason']
    assert member_ids(lab)['n1'] == old
    reply = lab.check(asked)

    assert lab.addresses() == ['10.0.0.2', '10.0.0.9']
    assert member_ids(lab)['n1'] != old
    assert reply['nodes'] == {'n1': {'data': {'x': 1, 'lb_member': member_ids(lab)['n1']}}}
    assert decision(reply)['reason'] == '1 removed, 1 added'
    assert planned == '1 to be removed, 1 to be added, in 2 updates; nothing was written'


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
    """A server that is the same keeps its member, as one look at the pool shows; a recreation that
    is not marked is a warning.
    """
    policy, members = scaled_out
    healed = {**members[0], 'data': {**members[0]['data'], **recovery}}
    lab.calls.clear()

    reply = lab.check(recover(policy, members, healed, inputs=inputs))

    assert (decision(reply)['outcome'], decision(reply)['reason']) == (
        'SKIPPED', 'The node is in the pool, and was not created again.',
    )  # fmt: skip
    assert reply['nodes'] == ({'n1': {'data': members[0]['data']}} if recovery else {})
    assert (reply['warnings'], [str(call) for call in lab.calls]) == (warnings, ['members'])


def test_recreated_node_without_address_loses_its_member_and_fails(lab, scaled_out):
    """A recreated node without an address fails, and its old member is removed."""
    policy, members = scaled_out

    reply = lab.check(recover(policy, members, {**recreated(members[0]), 'details': {}}))

    assert failed(reply, 'n1').startswith('The node has no address')
    assert reply['nodes'] == {'n1': {'data': {}, 'status': 'WARNING', 'status_reason': FAILURE}}
    assert lab.addresses() == ['10.0.0.2']


def test_member_that_stays_by_a_failure_stays_in_the_data_of_its_node(lab):
    """A node whose former member cannot be removed keeps its data, which name that member."""
    policy, [old] = lab.attached([connected(1)])
    lab.octavia(None).create_member(
        ids_of(policy)['pool'],
        {'address': '10.0.0.9', 'protocol_port': 80, 'tags': [*OURS, 'placement-worker:node=n1']},
    )
    lab.clock.sleep(lab.pending_s)
    lab.around = refusal('delete_member')
    moved = connected(9) | {'id': 'n1', 'data': old['data']}

    reply = lab.check(after(SCALE_OUT, [policy], [moved], data=created('n1')))

    assert FORBIDDEN in failed(reply, 'n1')
    assert reply['nodes']['n1']['data'] == old['data']


NEW = {'lb_member': 'm1'}
EARLIER = NodePatch({'b': 2}, 'ACTIVE', 'Repaired')


@pytest.mark.parametrize(
    ('earlier', 'data', 'expected'),
    [
        (None, NEW, NodePatch(NEW)),
        (None, {}, None),
        (EARLIER, {'b': 2, **NEW}, NodePatch({'b': 2, **NEW}, 'ACTIVE', 'Repaired')),
        (EARLIER, {'b': 2}, None),
    ],
)
def test_patch_keeps_the_status_of_an_earlier_patch(earlier, data, expected):
    """A patch keeps the status that an earlier policy has set; unchanged data give none."""
    state = State({}, None, 10, NOW, nodes={'n1': earlier} if earlier else {})

    assert node_patch(state, Node('n1'), data) == ({'n1': expected} if expected else {})


@pytest.mark.parametrize(
    ('change', 'status', 'reason', 'expected'),
    [
        ('failure', 'ACTIVE', 'Created', ('WARNING', FAILURE)),
        ('failure', 'WARNING', None, ('WARNING', FAILURE)),
        ('failure', 'WARNING', 'No ping', ('WARNING', f'No ping. {FAILURE}')),
        ('failure', 'WARNING', FAILURE, ('WARNING', FAILURE)),
        ('failure', 'ERROR', None, ('ERROR', FAILURE)),
        ('failure', 'ERROR', 'No host. ', ('ERROR', f'No host. {FAILURE}')),
        ('failure', 'ERROR', f'No host. {FAILURE}', ('ERROR', f'No host. {FAILURE}')),
        ('repaired', 'WARNING', FAILURE, tuple(REPAIRED.values())),
        ('repaired', 'WARNING', None, ()),
        ('repaired', 'WARNING', f'No ping. {FAILURE}', ()),
        ('repaired', 'ERROR', FAILURE, ()),
        ('repaired', 'ACTIVE', FAILURE, ()),
    ],
)
def test_patch_keeps_a_status_or_reason_of_others(change, status, reason, expected):
    """A failure is added to what is wrong already; only the policy's own warning ends."""
    node = Node('n1', status=status, status_reason=reason)

    state = State({}, None, 10, NOW)

    assert node_patch(state, node, NEW, **{change: FAILURE}) == {'n1': NodePatch(NEW, *expected)}
