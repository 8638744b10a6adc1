"""The programs of the pages on tasks, in parts that need no worker."""

import importlib
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import actions
from placement_worker.contract.model import (
    ActionPatch,
    BindingPatch,
    BindReply,
    CheckReply,
    CheckRequest,
    NodePatch,
)
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry
from tests.factories import (
    NOW,
    deletion_policy,
    node,
    nodes,
    redistributing,
    refused,
    region_policy,
    request,
    zone_policy,
)

PROGRAMS = Path(__file__).parents[3] / 'placement_worker' / 'examples' / 'how-to'


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that imports a program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PROGRAMS)
    for file in PROGRAMS.glob('*.py'):
        monkeypatch.delitem(sys.modules, file.stem, raising=False)
    return importlib.import_module


def test_engine_stores_data_and_a_status_with_its_reason(program):
    """The engine stores data, status and status_reason of a node, and keeps its other keys."""
    cluster = {'nodes': [{'id': f'n{number}', 'status': 'ACTIVE'} for number in (1, 2, 3)]}
    patches = {'n1': NodePatch({'a': 1}, 'WARNING', 'No member'), 'n2': NodePatch({'b': 2})}
    patch = ActionPatch('a1', {'status': 'ERROR'})
    reply = CheckReply(action=patch, cluster=None, nodes=patches, decisions=[], warnings=[])

    program('engine').store(reply, {}, cluster)

    assert cluster['nodes'] == [
        {'id': 'n1', 'status': 'WARNING', 'status_reason': 'No member', 'data': {'a': 1}},
        {'id': 'n2', 'status': 'ACTIVE', 'data': {'b': 2}},
        {'id': 'n3', 'status': 'ACTIVE'},
    ]


@pytest.mark.parametrize('count', [0, 1, 2], ids=['none', 'the first', 'both'])
def test_engine_that_acts_again_creates_the_nodes_that_are_left(program, count):
    """An attempt after a crash finds the nodes of earlier ones, with their servers."""
    plan = {'placement': {'placements': [{'zone': 'az1'}, {'zone': 'az2'}]}}
    action = {'id': 'a1', 'data': plan, 'inputs': {}}
    earlier = [{'id': f'a1-{number}', 'index': number, 'data': {}} for number in range(count)]
    cluster = {'nodes': [node(1, 'az1'), *earlier]}
    before = [dict(node) for node in cluster['nodes']]

    program('engine').act(action, cluster)

    assert [node['id'] for node in cluster['nodes']] == ['n1', 'a1-0', 'a1-1']
    assert cluster['nodes'][: len(before)] == before
    assert action['data']['creation']['nodes'] == ['a1-0', 'a1-1']


@pytest.fixture
def no_room(program, monkeypatch):
    """The program, whose set FULL has the zones without room."""
    no_room = program('no_room')
    monkeypatch.setattr(no_room, 'FULL', set())
    return no_room


@pytest.fixture
def stored():
    """The cluster and the policies of the pages, with version 1.1 of zone placement."""
    asked = yaml.safe_load((PROGRAMS / 'cluster.yaml').read_text(encoding='utf-8'))
    asked['policies'][0]['spec']['version'] = '1.1'
    return asked['cluster'], asked['policies']


def test_program_without_room_in_a_zone_tries_its_alternatives(no_room, stored):
    """A node that the planned zone has no room for is created in the next best one."""
    no_room.FULL.add('az3')

    no_room.grow(RecordingCaller(), 'grow-1', *stored)

    assert stored[0]['nodes'][3]['data']['placement'] == {'zone': 'az2'}


def test_failed_node_that_is_replaced_twice_leaves_the_evidence_of_each_zone(no_room, stored):
    """The data of the cluster record each failure, so the third attempt is in the third zone."""
    no_room.FULL.update(('az1', 'az2', 'az3'))
    worker, cluster = RecordingCaller(), stored[0]

    no_room.grow(worker, 'grow-1', *stored)
    failed = cluster['nodes'][3]
    no_room.replace_failed(worker, 'again-1', *stored, 'grow-1-0')
    no_room.FULL.remove('az1')
    no_room.replace_failed(worker, 'again-2', *stored, 'again-1-0')

    assert (failed['status'], failed['data']['placement']) == ('ERROR', {'zone': 'az3'})
    assert [failure['zone'] for failure in cluster['data']['placement_failures']] == ['az2', 'az3']
    new = cluster['nodes'][3]
    assert (new['id'], new['status'], len(cluster['nodes'])) == ('again-2-0', 'ACTIVE', 4)
    assert new['data']['placement'] == {'zone': 'az1'}
    assert worker.checks[-1] == ('AFTER', 'CLUSTER_REPLACE_NODES')


class RecordingCaller(InProcessCaller):
    """A worker in this process over the cloud of the pages, which records the checks."""

    def __init__(self, cloud=None):
        cloud = cloud or yaml.safe_load((PROGRAMS / 'cloud.yaml').read_text(encoding='utf-8'))
        self.cloud = Inventory.parse(cloud | {'load_balancer': {'pending_s': 0}}, 'the test')
        super().__init__(self.cloud, Registry.installed())
        self.checks = []
        self.trusts = set()

    @override
    def _send(self, method, request, context):
        self.trusts.add(request.credentials.trust_id)
        if isinstance(request, CheckRequest):
            self.checks.append((request.target, request.action.action))
        return super()._send(method, request, context)


def places(cluster):
    placements = [node['data']['placement'] for node in cluster['nodes']]
    return Counter((placement.get('region_name'), placement['zone']) for placement in placements)


def rebalanced(stored, cloud=None):
    worker = RecordingCaller(cloud)
    importlib.import_module('rebalance').rebalance(worker, 'plan-1', stored)
    return worker


def test_rebalance_program_asks_for_members_before_it_deletes(program):
    """Each step asks AFTER its creation, and BEFORE and AFTER its deletion, with the trust."""
    program('rebalance')
    stored = yaml.safe_load((PROGRAMS.parent / 'rebalance.yaml').read_text(encoding='utf-8'))

    worker = rebalanced(stored)

    assert worker.trusts == {'my-trust'}
    assert places(stored['cluster']) == {(None, 'az1'): 3, (None, 'az2'): 3}
    assert 'n1' in [node['id'] for node in stored['cluster']['nodes']]  # it is protected
    assert worker.checks == 2 * [
        ('AFTER', 'CLUSTER_ADD_NODES'),
        ('BEFORE', 'CLUSTER_DEL_NODES'),
        ('AFTER', 'CLUSTER_DEL_NODES'),
    ]


def test_rebalance_program_creates_nodes_that_a_scale_out_would_not(program):
    """The program carries out a move between the zones of one of two regions."""
    program('rebalance')
    cloud = {'regions': {name: {'zones': {'az1': True, 'az2': True}} for name in ('A', 'B')}}
    held = [('A', 'az1')] * 2 + [('A', 'az2')] * 2 + [('B', 'az1')] * 4
    stored = request(
        'CLUSTER_CHECK',
        [region_policy('A', 'B'), zone_policy('az1', 'az2'), deletion_policy()],
        [node(number, zone, region) for number, (region, zone) in enumerate(held, 1)],
    )
    plan = RecordingCaller(cloud).policy_rebalance(stored)

    rebalanced(stored, cloud)

    assert [step.scale_out for step in plan.steps] == [False, False]
    assert set(places(stored['cluster']).values()) == {2}


def test_rebalance_program_without_a_plan_fails_with_the_reason(program):
    """A reply with the status ERROR changes nothing."""
    program('rebalance')
    stored = request('CLUSTER_CHECK', [zone_policy('az1', 'az2')], nodes(az1=2), max_size=2)

    with pytest.raises(SystemExit, match='and its max_size is 2'):
        rebalanced(stored)

    assert [node['id'] for node in stored['cluster']['nodes']] == ['n1', 'n2']


class Pool:
    """A cluster with a load balancer, and the program that changes it."""

    def __init__(self, program, worker, cluster, policy):
        self.program, self.worker, self.cluster = program, worker, cluster
        reply = worker.policy_attach({'cluster': cluster, 'policy': policy})
        policy['data'] = reply.policy.data
        for member in cluster['nodes']:
            member['data'] = reply.nodes[member['id']].data
        self.policies = [policy]
        self._pool_id = policy['data']['LoadBalancingPolicy']['data']['pool']

    def addresses(self):
        """Return the addresses of the members: id -> address."""
        members = self.worker.cloud.octavia(None).members(self._pool_id)
        return {member['id']: member['address'] for member in members}

    def stored_addresses(self):
        """Return the addresses of the members in the data of the nodes: node id -> address."""
        addresses = self.addresses()
        return {node['id']: addresses[node['data']['lb_member']] for node in self.cluster['nodes']}


@pytest.fixture
def pool(program):
    """The program of changes, a worker, and a cluster with an attached load balancer."""
    stored = yaml.safe_load((PROGRAMS / 'load_balancer.yaml').read_text(encoding='utf-8'))
    return Pool(program('changes'), RecordingCaller(), stored['cluster'], stored['policy'])


def test_growing_program_adds_a_member_for_each_new_node(pool):
    """A scale-out with a load balancer adds the servers of its new nodes to the pool."""
    bound = yaml.safe_load((PROGRAMS / 'cluster.yaml').read_text(encoding='utf-8'))['policies']
    action = {'id': 'grow-1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 1}}

    pool.program.scale(pool.worker, action, pool.cluster, [*bound, *pool.policies])

    assert pool.stored_addresses()['grow-1-0'] == '10.0.0.14'
    assert len(pool.addresses()) == 4
    assert pool.worker.checks == [('BEFORE', 'CLUSTER_SCALE_OUT'), ('AFTER', 'CLUSTER_SCALE_OUT')]


def test_replacing_program_exchanges_the_members(pool):
    """The member of the old node is removed, and the new node has one."""
    new = node(7, physical_id='server-7')

    pool.program.replace(pool.worker, 'a1', pool.cluster, pool.policies, {'n1': new})

    assert pool.stored_addresses() == {'n7': '10.0.0.17', 'n2': '10.0.0.12', 'n3': '10.0.0.13'}
    assert len(pool.addresses()) == 3
    phases = 'BEFORE', 'AFTER'
    assert pool.worker.checks == [(phase, 'CLUSTER_REPLACE_NODES') for phase in phases]


def test_recovering_program_replaces_the_member(pool):
    """The pool has the address of the new server, and `recovery` is dropped."""
    third = pool.cluster['nodes'][2] | {'physical_id': 'server-8'}
    pool.cluster['nodes'][2] = third

    pool.program.recover(pool.worker, 'a1', pool.cluster, pool.policies, third)

    assert pool.stored_addresses() == {'n1': '10.0.0.11', 'n2': '10.0.0.12', 'n3': '10.0.0.18'}
    assert len(pool.addresses()) == 3
    assert 'recovery' not in third['data']


@pytest.mark.parametrize('action', sorted(actions.REMOVING))
@pytest.mark.parametrize('make_policy', [zone_policy, region_policy])
def test_phases_include_each_check_that_records_a_failure(program, action, make_policy):
    """The program asks BEFORE each action whose reply records the failure of a deleted node."""
    policy = redistributing(make_policy('p1', 'p2'))
    failed = refused(1, 'p1', 'p1')
    ids = {'n1': 'n9'} if action == actions.CLUSTER_REPLACE_NODES else ['n1']
    inputs = {'candidates': ids, 'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -1}
    of_node = {'node': failed} if action in actions.OF_A_NODE else {'inputs': inputs}
    cloud = {'regions': {name: {'zones': {'p1': True, 'p2': True}} for name in ('p1', 'p2')}}
    inventory = Inventory.parse(cloud, 'the test')
    worker = InProcessCaller(inventory, Registry.installed(), lambda: NOW)

    reply = worker.policy_check(request(action, [policy], [failed, node(2, 'p2', 'p2')], **of_node))
    phases = program('when_to_ask').phases(
        action, 'RPC Request', [policy], worker.policy_type_list()
    )

    assert reply.cluster.data['placement_failures']
    assert phases == ['BEFORE']


def test_program_stores_the_changes_of_a_failed_attachment(program):
    """The engine keeps the data of a reply with status ERROR, and ends with its reason."""
    cluster, policy = {'nodes': [node(1)], 'data': {'a': 1}}, {'data': {}}
    patches = {'n1': NodePatch({'lb_member': 'm1'})}
    of_policy = BindingPatch('p1', {'b': 2})
    failed = {'status': 'ERROR', 'reason': 'No network'}
    reply = BindReply(**failed, policy=of_policy, cluster=None, nodes=patches)

    with pytest.raises(SystemExit, match='No network'):
        program('attach').bind(lambda _: reply, cluster, policy, {})

    assert (policy['data'], cluster['data']) == ({'b': 2}, {'a': 1})
    assert cluster['nodes'][0]['data'] == {'lb_member': 'm1'}


def test_program_stores_the_changes_of_an_expired_check(program):
    """The next attempt sends the data of a node whose member has left before the expiry."""
    stored = {'action': {'id': 'a1'}, 'cluster': {'nodes': [node(1)]}}
    actions_of_engine = program('stored_actions')
    actions_of_engine.add(stored)
    expired = ActionPatch('a1', {'status': 'ERROR', 'reason': 'Request expired'})
    patches = {'n1': NodePatch({'left': True})}
    reply = CheckReply(action=expired, cluster=None, nodes=patches, decisions=[], warnings=[])

    actions_of_engine.on_reply('a1-BEFORE-1', reply)

    ((state, request_of_next),) = actions_of_engine.open_actions()
    assert (state, request_of_next['attempt']) == ('BEFORE', 2)
    assert request_of_next['cluster']['nodes'][0]['data'] == {'left': True}
