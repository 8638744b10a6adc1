"""The nodes that planners look at one by one."""

from itertools import product

from placement_worker.contract import codec
from placement_worker.contract.model import Node
from placement_worker.planning import protection, victims
from placement_worker.planning.exceptional import exceptional

CREATED = '2026-01-01T00:00:00Z'
VALUES = {
    'status': ['ACTIVE', 'ERROR', 'WARNING', ''],
    'tainted': [False, True],
    'created_at': [CREATED, None],
    'metadata': [None, {}, {'protected': True}],
    'data': [{}, {'protected': True}],
}
MEMBERS = [
    codec.decode({'id': f'n{i}', **dict(zip(VALUES, values, strict=True))}, Node)
    for i, values in enumerate(product(*VALUES.values()))
]


def test_other_nodes_are_healthy_and_not_protected():
    """Planners find the same unhealthy, never created and protected nodes among these alone."""
    few = exceptional(MEMBERS)

    assert victims.before_healthy(few) == victims.before_healthy(MEMBERS)
    assert protection.marked(few) == protection.marked(MEMBERS)


def test_healthy_nodes_are_not_exceptional():
    """Active, created nodes without metadata and protection are not among them."""
    assert MEMBERS[0] not in exceptional(MEMBERS)
