"""Requests decided by Senlin and by the worker: the comparison in the documentation.

PLACEMENT_WORKER_WRITE_COMPARISON=1 writes its table again.
"""

import os
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from senlin.common import consts
from senlin.objects import node as nodes

from tests.senlin import engine
from tests.senlin.specs import affinity, deletion, load_balancing, regions, spec, zones

TABLE = Path(__file__).parents[2] / 'doc' / 'source' / 'comparison-senlin.inc'
THREE = zones('az1', 'az2', 'az3')
CAPPED = [{'name': 'RegionOne', 'cap': 1}, {'name': 'RegionTwo'}]


@dataclass(frozen=True)
class Case:
    """A request to a cluster with policies; `why` explains the difference between the decisions.

    :ivar nodes: the places of the nodes, by zone or by the whole placement.
    :ivar lost: the zone whose nodes have failed.
    :ivar show: returns a short description of the data of the action.
    """

    request: str
    policies: Mapping[str, Any]
    action: str
    why: str
    nodes: Sequence[Any] = ()
    lost: str = ''
    inputs: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)
    show: Callable[[Any, Any, Mapping[str, Any]], str] | None = None


def engine_view(cluster, node, data):
    """Return the data that the engine reads: it creates nodes from `placement` alone."""
    if node is not None:
        placement = engine.node_of(node.id).data.get('placement', {})
        return f'the node is created in {placement.get("zone", "any zone")}'
    entries = data.get('placement', {}).get('placements')
    if entries is None:
        return 'the engine creates nodes anywhere: the plan is not where it looks'
    places = [
        entry.get('zone', 'any zone')
        + (f' (group {entry["servergroup"]})' if 'servergroup' in entry else '')
        for entry in entries
    ]
    return 'the engine creates nodes in ' + ', then '.join(places)


def by_region(cluster, node, data):
    victims = [engine.node_of(node_id) for node_id in data['deletion']['candidates']]
    placements = [victim.data['placement'] for victim in victims]
    names = Counter(placement.get('region_name', 'no known region') for placement in placements)
    return f'delete {len(victims)}: {_listed(names)}'


def out_of_pool(cluster, node, data):
    kept = sum('lb_member' in engine.node_of(node.id).data for node in cluster.nodes)
    return f'{len(cluster.nodes) - kept} of {len(cluster.nodes)} nodes leave the pool'


CASES = [
    Case(
        'Create 3 nodes in zones of weight 100 and 200',
        {'zones': zones(az1=100, az2=200)},
        consts.CLUSTER_SCALE_OUT,
        'Whole shares: both are exact.',
        inputs={'count': 3},
    ),
    Case(
        'Create 4 nodes in 3 equal zones',
        {'zones': THREE},
        consts.CLUSTER_SCALE_OUT,
        'Senlin fills each zone up to its rounded-up share, and stops when no node is left. '
        'The worker takes the plan that is closest to the shares.',
        inputs={'count': 4},
    ),
    Case(
        'The same, and the data that the engine reads',
        {'zones': THREE},
        consts.CLUSTER_SCALE_OUT,
        "The engine creates nodes from the action's ``placement`` alone; Senlin's policy writes "
        'its plan elsewhere.',
        inputs={'count': 4},
        show=engine_view,
    ),
    Case(
        'Create a single node, with 2 nodes in az1 and none in az2',
        {'zones': zones('az1', 'az2')},
        consts.NODE_CREATE,
        "Senlin's policy fails for a node that has no zone yet. Its plan would not reach the "
        'node either.',
        nodes=['az1', 'az1'],
        show=engine_view,
    ),
    Case(
        'Create 2 nodes in a server group and in 2 zones',
        {'group': affinity(), 'zones': zones('az1', 'az2')},
        consts.CLUSTER_SCALE_OUT,
        'With the plugin a node has both.',
        inputs={'count': 2},
        show=engine_view,
    ),
    Case(
        'Create 4 nodes in 2 equal regions, the first of which takes 1',
        {'regions': spec('region_placement', regions=CAPPED)},
        consts.CLUSTER_SCALE_OUT,
        'Senlin does not give to one region what another cannot take.',
        inputs={'count': 4},
    ),
    Case(
        'Create 3 nodes in 2 regions with 2 zones each, with one node there',
        {'regions': regions('RegionOne', 'RegionTwo'), 'zones': zones('az1', 'az2')},
        consts.CLUSTER_SCALE_OUT,
        "Senlin's two plans do not know of each other.",
        nodes=[{'region_name': 'RegionOne', 'zone': 'az1'}],
        inputs={'count': 3},
    ),
    Case(
        'Delete 2 nodes; az1 has 3 and az2 has 1',
        {'zones': zones('az1', 'az2'), 'victims': deletion()},
        consts.CLUSTER_SCALE_IN,
        'Both even out.',
        nodes=['az1', 'az1', 'az1', 'az2'],
        inputs={'count': 2},
    ),
    Case(
        'Delete 2 nodes; az1 has 4 healthy ones and az2 has 2 that have failed',
        {'zones': zones('az1', 'az2'), 'victims': deletion()},
        consts.CLUSTER_SCALE_IN,
        'Senlin chooses zones by weight alone, and then unhealthy nodes of each zone. The '
        'worker removes unhealthy nodes of all zones first.',
        nodes=['az1', 'az1', 'az1', 'az1', 'az2', 'az2'],
        lost='az2',
        inputs={'count': 2},
    ),
    Case(
        'Delete 1 node of a cluster that has one in a zone that is down',
        {'zones': zones('az1', 'down'), 'victims': deletion()},
        consts.CLUSTER_SCALE_IN,
        'Senlin counts nodes of usable zones only, and fails for all others. For the worker an '
        'unusable zone keeps its share: an outage of the control plane is no reason to delete '
        'healthy nodes.',
        nodes=['az1', 'az1', 'az1', 'down'],
        inputs={'count': 1},
    ),
    Case(
        'Delete 1 node of a cluster that has one in a zone that the policy does not list',
        {'zones': zones('az1', 'az2'), 'victims': deletion()},
        consts.CLUSTER_SCALE_IN,
        'The worker selects it first.',
        nodes=['az1', 'az2', 'az3'],
        inputs={'count': 1},
    ),
    Case(
        'Delete 2 of 3 nodes, of which 2 are in no known region',
        {'regions': regions('RegionOne', 'RegionTwo'), 'victims': deletion()},
        consts.CLUSTER_SCALE_IN,
        "Senlin's plan takes 2 nodes from a region that has 1. The worker selects nodes without "
        'a region first.',
        nodes=[{'region_name': 'RegionOne'}, {}, {}],
        inputs={'count': 2},
        show=by_region,
    ),
    Case(
        'Change the size of 4 nodes by 0 %, in steps of at least 2',
        {'victims': deletion()},
        consts.CLUSTER_RESIZE,
        'For Senlin no change is a change downwards.',
        nodes=['az1'] * 4,
        inputs={'adjustment_type': 'CHANGE_IN_PERCENTAGE', 'number': 0, 'min_step': 2},
    ),
    Case(
        'Resize a cluster to 2 nodes that has none, though 3 are desired',
        {'zones': zones('az1', 'az2')},
        consts.CLUSTER_RESIZE,
        'Where there are no nodes Senlin counts from the desired capacity.',
        inputs={'adjustment_type': 'EXACT_CAPACITY', 'number': 2},
        sizes={'desired_capacity': 3},
    ),
    Case(
        'Delete 3 of 5 nodes with a load balancer and no deletion policy',
        {'lb': load_balancing()},
        consts.CLUSTER_SCALE_IN,
        'Senlin overlooks the count of the request; the engine then deletes that 1 node only.',
        nodes=['az1'] * 5,
        inputs={'count': 3},
        show=out_of_pool,
    ),
    Case(
        'Delete 1 of 2 nodes with a load balancer and a min_size of 2',
        {'lb': load_balancing()},
        consts.CLUSTER_SCALE_IN,
        'The engine refuses the action afterwards, so the nodes have to keep their traffic.',
        nodes=['az1'] * 2,
        inputs={'count': 1},
        sizes={'min_size': 2},
        show=out_of_pool,
    ),
]


def decide(case: Case) -> str:
    placements = [{'zone': node} if isinstance(node, str) else node for node in case.nodes]
    sizes = dict(case.sizes)
    desired = sizes.pop('desired_capacity', None)
    cluster = engine.add_cluster(places=placements, **sizes)
    engine.bound(cluster, **case.policies)
    for node in cluster.nodes:
        if case.lost and _place(node) == case.lost:
            nodes.Node.update(engine.context(), node.id, {'status': consts.NS_ERROR})
    if desired is not None:
        cluster.set_status(engine.context(), 'ACTIVE', desired_capacity=desired)
    node = None
    if case.action == consts.NODE_CREATE:
        node = engine.add_node(cluster, engine.add_profile(), status=consts.NS_INIT)
    action = engine.add_action(node or cluster, case.action, **case.inputs)
    try:
        action.policy_check(cluster.id, 'BEFORE')
    except Exception as exc:  # what Senlin's engine makes a failed action of
        return f'the action fails: {type(exc).__name__}: {exc}'
    if action.data['status'] == 'ERROR':
        return f'the action fails: {action.data["reason"].partition(": ")[2]}'
    return (case.show or shown)(cluster, node, action.data)


def shown(cluster, node, data):
    for kind, verb in (('deletion', 'delete'), ('creation', 'create')):
        plan = data.get(kind)
        if plan and plan['count']:
            return f'{verb} {plan["count"]}' + _places(cluster, plan)
    return 'nothing to do'


def _places(cluster, plan):
    if 'candidates' in plan:
        counts = Counter(_place(engine.node_of(node_id)) for node_id in plan['candidates'])
        return ': ' + _listed(counts)
    if 'places' in plan:
        places = plan['places']
        counts = {f'{place["region_name"]}/{place["zone"]}': place['count'] for place in places}
        return ': ' + _listed(counts)
    return ''.join(f': {_listed(plan[kind])}' for kind in ('regions', 'zones') if kind in plan)


def _place(node):
    return node.data['placement']['zone']


def _listed(counts):
    return ', '.join(f'{name} {count}' for name, count in sorted(counts.items()))


def table(rows: Sequence[tuple[Case, str, str]]) -> str:
    head = ['.. list-table::', '   :header-rows: 1', '   :widths: 24 24 24 28', '']
    lines = [*head, *_row('Request', 'Senlin 16', 'placement-worker', 'Why')]
    for case, senlin, ours in rows:
        lines += _row(case.request, senlin, 'the same' if ours == senlin else ours, case.why)
    return '\n'.join(lines) + '\n'


def _row(*cells):
    lines = []
    for bullet, text in zip(('   * - ', *['     - '] * 3), cells, strict=True):
        indents = {'initial_indent': bullet, 'subsequent_indent': ' ' * len(bullet)}
        lines += textwrap.wrap(text, 79, break_long_words=False, break_on_hyphens=False, **indents)
    return lines


@pytest.mark.usefixtures('worker')
def test_the_comparison_in_the_documentation_is_what_senlin_and_the_worker_decide(by_itself):
    """The page compares the actual decisions of Senlin and of the worker."""
    rows = []
    for case in CASES:
        with by_itself():
            senlin = decide(case)
        rows.append((case, senlin, decide(case)))
    found = table(rows).strip() + '\n'

    if 'PLACEMENT_WORKER_WRITE_COMPARISON' in os.environ:
        TABLE.write_text(found, encoding='utf-8')

    assert found == TABLE.read_text(encoding='utf-8')
