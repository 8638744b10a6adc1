"""The plan of a rebalance as text."""

import msgspec

from placement_worker.cmd import rebalance_table
from placement_worker.cmd.colors import PLAIN
from placement_worker.contract.model import RebalanceReply, RebalanceRequest
from tests.factories import nodes, request

STEP = {
    'create': [{'region_name': 'R1', 'zone': 'b'}],
    'scale_out': False,
    'load_balancing': ['lb'],
    'delete': [{'id': 'n1', 'name': 'web-1', 'place': {'zone': 'a'}, 'reason': 'oldest'}],
    'grace_period': 60,
    'imbalance': {'misplaced': 0, 'regions': 0.0, 'zones': 0.25},
}
REPLY = {
    'status': 'OK',
    'reason': '1 move in 1 step',
    'warnings': ['Mind'],
    'imbalance': {'misplaced': 1, 'regions': 0.5, 'zones': 1.0},
    'steps': [STEP],
}


def shown(**more):
    cluster = request('', (), nodes(a=2))['cluster']
    asked = msgspec.convert({'cluster': cluster, 'policies': []}, RebalanceRequest)
    return rebalance_table.shown(
        msgspec.convert({**REPLY, **more}, RebalanceReply), asked, PLAIN
    ).splitlines()


def test_table_shows_the_imbalance_and_each_move():
    """The imbalance before and after, the moves, and the wait for members are shown."""
    assert shown() == [
        'Warning: Mind',
        'Rebalance of cluster web (2 nodes): OK',
        '1 move in 1 step',
        '    misplaced nodes: 1 -> 0',
        '    deviation of the regions: 0.5 -> 0',
        '    deviation of the zones: 1 -> 0.25',
        '    steps:',
        '    +------+-----------+--------------------------------+-------------+----+--------+',
        '    | step | create in | by                             | then delete | of | reason |',
        '    +------+-----------+--------------------------------+-------------+----+--------+',
        '    |    1 | R1/b      | a profile that names the place | web-1       | a  | oldest |',
        '    +------+-----------+--------------------------------+-------------+----+--------+',
        '    members: added AFTER the creation, removed BEFORE the deletion by the checks of the '
        'engine; members leave now, nodes are deleted 60 s later',
    ]


def test_table_without_a_pool_or_a_wait_has_no_line_about_members():
    """A cluster without a load balancer needs no line about members."""
    assert 'members' not in shown(steps=[{**STEP, 'load_balancing': []}])[-1]
    assert shown(steps=[{**STEP, 'grace_period': 0}])[-1].endswith('checks of the engine')


def test_table_of_an_error_shows_the_reason_alone():
    """A plan that failed has no table."""
    assert shown(status='ERROR', reason='no', imbalance=None, steps=[], warnings=[]) == [
        'Rebalance of cluster web (2 nodes): ERROR',
        'no',
    ]
