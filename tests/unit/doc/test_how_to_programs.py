"""The programs of the pages on tasks, in parts that need no worker."""

import importlib
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import ActionPatch, CheckReply, CheckRequest, NodePatch
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

PROGRAMS = Path(__file__).parents[3] / 'placement_worker' / 'examples' / 'how-to'


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that imports a program in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(PROGRAMS)
    for name in ('changes', 'engine', 'rebalance'):
        monkeypatch.delitem(sys.modules, name, raising=False)
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


class RecordingCaller(InProcessCaller):
    """A worker in this process over the cloud of the pages, which records the checks."""

    def __init__(self, cloud=None):
        cloud = cloud or yaml.safe_load((PROGRAMS / 'cloud.yaml').read_text(encoding='utf-8'))
        self.cloud = Inventory.parse(cloud | {'load_balancer': {'pending_s': 0}}, 'the test')
        super().__init__(self.cloud, Registry.installed())
        self.checks = []

    @override
    def _send(self, method, request, context):
        if isinstance(request, CheckRequest):
            self.checks.append((request.target, request.action.action))
        return super()._send(method, request, context)


def places(cluster):
    """Return the number of nodes per place."""
    placements = [node['data']['placement'] for node in cluster['nodes']]
    return Counter((placement.get('region_name'), placement['zone']) for placement in placements)


def rebalanced(stored, cloud=None):
    """Carry out a rebalance, and return its worker."""
    worker = RecordingCaller(cloud)
    importlib.import_module('rebalance').rebalance(worker, 'plan-1', stored)
    return worker


def test_rebalance_program_asks_for_members_before_it_deletes(program):
    """Each step asks AFTER its creation, and BEFORE and AFTER its deletion."""
    program('rebalance')
    stored = yaml.safe_load((PROGRAMS.parent / 'rebalance.yaml').read_text(encoding='utf-8'))

    worker = rebalanced(stored)

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
    assert pool.worker.checks == [
        ('BEFORE', 'CLUSTER_REPLACE_NODES'),
        ('AFTER', 'CLUSTER_REPLACE_NODES'),
    ]


def test_recovering_program_replaces_the_member(pool):
    """The pool has the address of the new server, and `recovery` is dropped."""
    third = pool.cluster['nodes'][2] | {'physical_id': 'server-8'}
    pool.cluster['nodes'][2] = third

    pool.program.recover(pool.worker, 'a1', pool.cluster, pool.policies, third)

    assert pool.stored_addresses() == {'n1': '10.0.0.11', 'n2': '10.0.0.12', 'n3': '10.0.0.18'}
    assert len(pool.addresses()) == 3
    assert 'recovery' not in third['data']
