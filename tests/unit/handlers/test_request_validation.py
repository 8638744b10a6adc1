"""Rules of requests that their types do not express."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster
from placement_worker.handlers.request_validation import KNOWN_STATUSES, misspelled_statuses
from placement_worker.handlers.service import Endpoints
from tests.factories import deletion_policy, node, nodes, rebalance, request, zone_policy

WITHOUT_VERSION = {'profile': {'id': 'p', 'type': 'os.nova.server'}}
OTHER_PROFILE = {'profile': {'id': 'p', 'type': 'os.heat.stack-1.0'}}


def warnings(check, *args, zones=('a',), **more):
    return check(request(*args, **more), zones=zones)['warnings']


@pytest.mark.parametrize(
    ('status', 'meant'),
    [('EROR', 'ERROR'), ('error', 'ERROR'), ('ERR', 'ERROR'), ('WARN', 'WARNING')],
)
def test_status_that_resembles_an_unhealthy_one_is_a_warning(check, status, meant):
    """A node that counts as healthy by a misspelled status is named to an operator."""
    members = [node(1, 'a', status=status), node(2, 'a', status=status), node(3, 'a')]

    assert warnings(check, 'CLUSTER_SCALE_IN', [deletion_policy()], members) == [
        f'Nodes count as healthy whose status is {status} (did you mean {meant}?)'
    ]


@pytest.mark.parametrize(
    'status', ['', *KNOWN_STATUSES, 'WAITING', 'RUNNING', 'CREATE_COMPLETE', 'FAILED']
)
def test_status_of_senlin_or_of_another_engine_is_no_misspelling(status):
    """An engine may have statuses of its own."""
    cluster = request('', (), [node(1, status=status)])['cluster']

    assert misspelled_statuses(codec.decode(cluster, Cluster).nodes) is None


def test_misspelled_status_in_a_rebalance_is_a_warning(registry):
    """The plan of a rebalance moves unhealthy nodes first, so a misspelling matters there, too."""
    asked = rebalance([zone_policy('a')], [node(1, 'a', status='EROR')])
    worker = Endpoints(Inventory.parse({'zones': {'a': True}}, 'test'), registry)

    assert worker.policy_rebalance(asked)['warnings'] == [
        'Nodes count as healthy whose status is EROR (did you mean ERROR?)'
    ]


IGNORED = 'The resize ignores `inputs.number`, because `inputs.adjustment_type` is missing'
SKIPPED = (
    'Profile type os.nova.server has no version (did you mean os.nova.server-1.0?): policy '
    'zone_placement was skipped'
)
SIZED = {'number': 2, 'adjustment_type': 'EXACT_CAPACITY'}
BOUNDS = {'number': None, 'adjustment_type': None, 'min_size': 1}


@pytest.mark.parametrize(
    ('action', 'policies', 'more', 'expected'),
    [
        ('CLUSTER_RESIZE', [], {'inputs': {'number': 5}}, [IGNORED]),
        ('CLUSTER_RESIZE', [zone_policy('a')], {'inputs': {'number': 5}}, [IGNORED]),
        ('CLUSTER_RESIZE', [], {'inputs': BOUNDS}, []),
        ('CLUSTER_RESIZE', [], {'inputs': SIZED}, []),
        ('CLUSTER_RESIZE', [], {'inputs': {'number': 5}, 'target': 'AFTER'}, []),
        ('CLUSTER_OPERATION', [], {'inputs': {'number': 5}}, []),
        ('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], WITHOUT_VERSION, [SKIPPED]),
        ('CLUSTER_SCALE_OUT', [zone_policy('a')], OTHER_PROFILE, []),
        ('CLUSTER_CHECK', [zone_policy('a')], WITHOUT_VERSION, []),
    ],
)
def test_mistake_that_changes_a_decision_is_a_warning(check, action, policies, more, expected):
    """A resize without its type, and a profile type without its version, are named."""
    texts = warnings(check, action, policies, nodes(a=2), **more)

    assert [text for text in texts if 'Unknown input' not in text] == expected
