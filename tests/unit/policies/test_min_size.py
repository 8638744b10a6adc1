"""Removals below min_size: all policies of a check agree."""

import pytest

from tests.factories import connected, deletion_policy, region_policy, request, zone_policy
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import left

REASON = 'The engine will refuse to leave fewer than min_size (3) nodes.'
WARNING = (
    "The action leaves 2 nodes, fewer than the cluster's min_size (3): the engine must refuse it"
)
POLICIES = [region_policy('R1'), zone_policy('a'), deletion_policy('RANDOM')]
REMOVALS = pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_IN', {}),
        ('CLUSTER_SCALE_IN', {'inputs': {'candidates': ['n1']}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'count': 1, 'candidates': ['n2']}}}),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1']}}),
        ('NODE_DELETE', {'node': connected(1)}),
    ],
)


@pytest.fixture
def pool():
    """A worker, a load-balancing policy and three nodes with members."""
    lab = Lab(description={'zones': {'a': True}, 'regions': ['R1']})
    policy, members = lab.attached([connected(number) for number in (1, 2, 3)])
    return lab, policy, members


@REMOVALS
def test_removal_below_min_size_is_skipped_by_all_policies(pool, action, more):
    """If load balancing keeps the members of a removal, no policy plans or chooses its victims."""
    lab, policy, members = pool
    asked = request(action, [*POLICIES, policy], members, min_size=3, **more)

    reply = lab.check(asked)

    data = {key: reply['action']['data'].get(key) for key in ('status', 'deletion')}
    assert data == {'status': 'OK', 'deletion': more.get('data', {}).get('deletion')}
    handled = [d for d in reply['decisions'] if 'does not handle' not in d['reason']]
    assert {(d['outcome'], d['reason']) for d in handled} == {('SKIPPED', REASON)}
    assert (reply['warnings'], left(lab)) == ([WARNING], ['n1', 'n2', 'n3'])


def test_named_nodes_below_min_size_count_for_all_policies(pool):
    """Named nodes count instead of the count of a scale-in, in every policy."""
    lab, policy, members = pool
    inputs = {'count': 1, 'candidates': ['n1', 'n2']}
    asked = request('CLUSTER_SCALE_IN', [*POLICIES, policy], members, min_size=2, inputs=inputs)

    reply = lab.check(asked)

    reasons = {(d['outcome'], d['reason']) for d in reply['decisions']}
    assert reasons == {('SKIPPED', REASON.replace('(3)', '(2)'))}
    assert (reply['warnings'], left(lab)) == (
        [WARNING.replace('2 nodes', '1 node').replace('(3)', '(2)')],
        ['n1', 'n2', 'n3'],
    )


def test_named_nodes_above_min_size_count_for_all_policies(pool):
    """Fewer named nodes than the count of a scale-in leave, although the count would not."""
    lab, policy, members = pool
    inputs = {'count': 2, 'candidates': ['n1']}
    asked = request('CLUSTER_SCALE_IN', [*POLICIES, policy], members, min_size=2, inputs=inputs)

    reply = lab.check(asked)

    assert {d['outcome'] for d in reply['decisions']} == {'APPLIED'}
    assert left(lab) == ['n2', 'n3']
    assert not any('min_size' in one for one in reply['warnings'])


@pytest.mark.parametrize(
    'unused', ['absent', 'disabled', 'other profile'], ids=lambda name: name.replace(' ', '_')
)
def test_removal_below_min_size_without_a_pool_has_victims_and_a_warning(pool, unused):
    """Without a consulted load-balancing policy the victims are chosen, with a warning."""
    lab, policy, members = pool
    bound = [] if unused == 'absent' else [{**policy, 'enabled': unused != 'disabled'}]
    asked = request('CLUSTER_SCALE_IN', [deletion_policy(), *bound], members, min_size=3)
    if unused == 'other profile':
        asked['cluster']['profile']['type'] = 'os.heat.stack-1.0'

    reply = lab.check(asked)

    assert len(reply['action']['data']['deletion']['candidates']) == 1
    assert reply['warnings'] == [WARNING]


def test_removal_that_protection_limits_to_min_size_is_applied(pool):
    """Protected nodes stay, so they do not take the cluster below min_size."""
    lab, policy, members = pool
    members = [{**one, 'metadata': {'protected': 'true'}} for one in members[:2]] + members[2:]
    bound = [zone_policy('a'), deletion_policy(), policy]
    asked = request('CLUSTER_SCALE_IN', bound, members, min_size=2, inputs={'count': 2})

    reply = lab.check(asked)

    assert reply['action']['data']['deletion']['candidates'] == ['n3']
    assert {d['outcome'] for d in reply['decisions']} == {'APPLIED'}
    assert left(lab) == ['n1', 'n2']


def test_protected_node_below_min_size_is_refused(pool):
    """A protected node that the action names is an error, also below min_size."""
    lab, policy, members = pool
    members = [{**members[0], 'metadata': {'protected': 'true'}}, *members[1:]]
    more = {'min_size': 3, 'inputs': {'candidates': ['n1']}}

    reply = lab.check(request('CLUSTER_DEL_NODES', [deletion_policy(), policy], members, **more))

    assert reply['action']['data']['reason'].startswith('Protected nodes must not be deleted')
