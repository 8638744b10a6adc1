"""The command `placement-policy rebalance`."""

import json

import msgspec
import pytest

from placement_worker.cmd.output import Paint
from placement_worker.cmd.rebalance import _plan_lines
from placement_worker.contract.model import RebalanceReply, RebalanceRequest
from tests.factories import nodes, request, zone_policy

CLOUD = {'zones': {'a': True, 'b': True}}


def asked(**more):
    """Return a request for a rebalance of two nodes in one of two zones."""
    cluster = {**request('', (), nodes(a=2))['cluster'], **more}
    return {'cluster': cluster, 'policies': [zone_policy('a', 'b')], 'options': {}}


@pytest.fixture
def rebalance(program):
    """Return a function that plans a rebalance over CLOUD."""

    def planned(document, *options):
        return program('rebalance', 'f', '--cloud', 'cloud', *options, f=document, cloud=CLOUD)

    return planned


CHECK = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=2))


@pytest.mark.parametrize('document', [asked(), CHECK], ids=['rebalance', 'check'])
def test_rebalance_prints_the_steps(rebalance, document):
    """The status is 0, and each move is a row; a check request is planned for its cluster."""
    status, out, err = rebalance(document)

    assert (status, err) == (0, '')
    assert out.startswith('Rebalance of cluster web (2 nodes): OK\n1 move in 1 step\n')
    assert '|    1 | b         | a scale-out | n' in out


def test_rebalance_that_cannot_be_planned_has_status_1(rebalance):
    """A plan with status ERROR prints its reason, and ends with 1."""
    status, out, _ = rebalance(asked(max_size=2))

    assert status == 1
    assert 'ERROR\nThe cluster has 2 nodes, and its max_size is 2: ' in out


@pytest.mark.parametrize(
    ('options', 'steps'),
    [
        (('--max-moves', '1'), 1),
        (('--min-gain', '9.5'), 0),
        (('--min-age-s', '2147483647'), 0),
        (('--max-surge', '2'), 1),
    ],
)
def test_options_of_the_command_line_replace_those_of_the_file(rebalance, options, steps):
    """Options that are given on the command line limit the plan."""
    status, out, _ = rebalance(asked(), *options, '-f', 'json')

    assert (status, len(json.loads(out)['steps'])) == (0, steps)


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
    reply = msgspec.convert({**REPLY, **more}, RebalanceReply)
    planned = msgspec.convert(asked(), RebalanceRequest)
    return '\n'.join(_plan_lines(reply, planned, Paint(on=False))).splitlines()


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
