"""Tests for the health floors of the pools of a check."""

import msgspec
import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import CheckRequest
from placement_worker.policies.load_balancing import node_removal
from tests.factories import changed, connected, load_balancing_policy, request
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import decision, left

SCALE_IN = 'CLUSTER_SCALE_IN'
MONITOR = {'health_monitor': {}}


def floored(min_online=2, **more):
    """Return a policy of version 1.4 with a health monitor."""
    return load_balancing_policy(version='1.4', min_online=min_online, **MONITOR, **more)


@pytest.mark.parametrize(
    ('policy', 'minimums'),
    [
        (floored('50%'), ['50%']),
        (floored(0), [0]),
        (load_balancing_policy(version='1.4'), []),
        (load_balancing_policy(version='1.3'), []),
        ({**floored(), 'enabled': False}, []),
        (changed(floored(3), lambda one: one['spec'].update(version=1.4)), [3]),
        (changed(floored(), lambda one: one['spec']['properties'].update(vip={'subnet': 5})), [2]),
    ],
)
def test_floored_returns_enabled_policies_with_a_floor(policy, minimums):
    """Only enabled policies of version 1.4 with `min_online` have a floor."""
    check = msgspec.convert(request(SCALE_IN, [policy], []), CheckRequest)

    assert [properties.min_online for _, properties in node_removal.floored(check)] == minimums


@pytest.mark.parametrize(
    ('statuses', 'details'),
    [
        ({}, (4, 4, 2)),
        ({'10.0.0.1': 'OFFLINE'}, (4, 3, 2)),
        ({'10.0.0.1': 'ERROR', '10.0.0.2': 'DEGRADED'}, (4, 2, 2)),
        ({'10.0.0.1': 'DRAINING', '10.0.0.2': 'NO_MONITOR'}, (4, 3, 2)),
    ],
)
def test_details_have_members_online_and_required(statuses, details):
    """ONLINE and NO_MONITOR count as online; the details have all three numbers."""
    lab = Lab(member_status=statuses)
    policy, members = lab.attached(
        [connected(n) for n in range(1, 5)], version='1.4', min_online='50%', **MONITOR
    )

    reply = lab.check(request(SCALE_IN, [policy], members, dry_run=True))

    found = decision(reply)['details']
    assert (found['members'], found['online'], found['required_online']) == details


def test_members_without_a_health_monitor_count_as_online():
    """A pool without a monitor reports NO_MONITOR, so only the number of members counts."""
    lab = Lab(member_status={'10.0.0.1': 'ERROR'})
    policy, members = lab.attached([connected(1), connected(2)], version='1.4', min_online=1)

    assert decision(lab.check(request(SCALE_IN, [policy], members)))['details']['online'] == 2


def test_member_that_is_being_deleted_does_not_count():
    """A member in PENDING_DELETE counts neither as a member nor as online."""
    lab = Lab(batch_members=False)
    policy, members = lab.attached(
        [connected(n) for n in range(1, 4)], version='1.4', min_online=1, **MONITOR
    )
    with lab.store.changing() as state:
        pool = next(iter(state['R1']['members'].values()))
        next(iter(pool.values()))['provisioning_status'] = 'PENDING_DELETE'

    reply = lab.check(request(SCALE_IN, [policy], members, dry_run=True))

    found = decision(reply)['details']
    assert (found['members'], found['online']) == (2, 2)


def second_pool(lab, members, version='1.4', **properties):
    """Attach another policy to the same nodes; return it and the nodes."""
    policy = load_balancing_policy(version=version, **MONITOR, **properties)
    policy |= {'id': 'pol-second', 'name': 'second'}
    asked = {'cluster': request('', (), members)['cluster'], 'policy': policy}
    reply = lab.attach(asked)
    assert reply['status'] == 'OK', reply['reason']
    return {**policy, 'data': reply['policy']['data']}


@pytest.mark.parametrize('first', ['1.3', '1.4'])
def test_floor_of_a_later_pool_is_applied_before_members_leave_an_earlier_one(first):
    """A node that the floor of the second pool spares stays in the first pool too."""
    lab = Lab()
    one, members = lab.attached([connected(n) for n in range(1, 5)], version=first, **MONITOR)
    other = second_pool(lab, members, min_online=3)
    victims = {'deletion': {'count': 3, 'candidates': ['n1', 'n2', 'n3']}}

    reply = lab.check(request(SCALE_IN, [one, other], members, data=victims))

    assert reply['action']['data']['deletion'] == {'count': 1, 'candidates': ['n1']}
    assert left(lab) == ['n2', 'n2', 'n3', 'n3', 'n4', 'n4']
    assert [one['outcome'] for one in reply['decisions']] == ['APPLIED', 'APPLIED']
    assert sum('can leave pool' in warning for warning in reply['warnings']) == 1


def test_operating_statuses_are_read_once_per_pool_and_check():
    """A plan lists each pool once, however many policies and floors there are."""
    lab = Lab()
    one, members = lab.attached(
        [connected(n) for n in range(1, 5)], version='1.4', min_online=1, **MONITOR
    )
    other = second_pool(lab, members, min_online=1)
    lab.calls.clear()

    lab.check(request(SCALE_IN, [one, other], members, dry_run=True))

    listed = [call.arguments[0] for call in lab.calls if call.name == 'members']
    assert len(listed) == len(set(listed)) == 2


def test_later_pool_that_cannot_be_read_fails_the_check_before_a_removal():
    """A pool with a floor that Octavia does not show keeps all members in all pools."""
    lab = Lab()
    one, members = lab.attached([connected(n) for n in range(1, 4)], **MONITOR)
    other = second_pool(lab, members, min_online=1)
    pool = other['data']['LoadBalancingPolicy']['data']['pool']

    def refuse(call):
        if call.name == 'members' and call.arguments[0] == pool:
            raise ApiError('Policy does not allow this request', 403)
        return call.act()

    lab.around = refuse
    reply = lab.check(request(SCALE_IN, [one, other], members))

    assert reply['action']['data']['status'] == 'ERROR'
    assert 'Octavia responded with status 403' in reply['action']['data']['reason']
    assert len(left(lab)) == 6


def test_later_policy_without_a_pool_fails_the_check_without_blaming_nodes():
    """If a policy with a floor was never attached, no member leaves and no node gets a status."""
    lab = Lab()
    one, members = lab.attached([connected(n) for n in range(1, 4)], **MONITOR)
    other = {**floored(1), 'id': 'pol-second'}

    reply = lab.check(request(SCALE_IN, [one, other], members))

    assert reply['action']['data']['reason'] == (
        'The binding holds no load balancer: attach the policy before it is checked.'
    )
    assert (reply['nodes'], len(left(lab))) == ({}, 3)
