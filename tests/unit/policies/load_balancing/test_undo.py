"""Tests for undoing a failed attachment; `test_faults` lets each call fail."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import bind, connected, load_balancing_policy


def test_attach_that_expires_leaves_nothing(lab):
    """An attachment during which the request expires is undone."""
    asked = bind(load_balancing_policy(), [connected(1)], expires_at=lab.clock.after(2))
    lab.pending_s = 5

    reply = lab.attach(asked)

    assert reply['status'] == 'ERROR'
    assert lab.is_empty()


@pytest.mark.parametrize('name', ['create', 'update_members'])
def test_request_that_expires_after_a_change_is_undone(lab, name):
    """A request that expires after a change reports it, and leaves nothing."""

    def expire(call):
        answer = call.act()
        if call.name == name:
            lab.clock.sleep(60)
        return answer

    lab.around = expire
    reply = lab.attach(
        bind(load_balancing_policy(), [connected(1)], expires_at=lab.clock.after(60))
    )

    assert (reply['status'], reply['reason']) == ('ERROR', 'Request expired')
    assert lab.is_empty()


def test_load_balancer_pending_beyond_the_timeout_is_deleted(lab):
    """A load balancer that stays pending beyond the timeout is deleted."""

    def create_slowly(call):
        answer = call.act()
        if call.name == 'create':
            with lab.store.changing() as state:
                state['R1']['pending'][answer['id']]['until'] += 65
        return answer

    lab.around = create_slowly
    reply = lab.attach(bind(load_balancing_policy(lb_status_timeout=60), [connected(1)]))

    assert reply['reason'].startswith('Load balancer ')
    assert reply['reason'].endswith(' is still PENDING_CREATE after 60 s')
    assert lab.is_empty()


def test_failed_cleanup_is_part_of_the_reason(lab):
    """The reason names the cause if an object could not be removed after a failure."""
    lab.pending_s = 10**6

    reply = lab.attach(bind(load_balancing_policy(lb_status_timeout=60), [connected(1)]))

    assert (
        'is still PENDING_CREATE after 60 s; what was made for it could not be removed: Load bal'
        in reply['reason']
    )
    assert len(lab.settled()['loadbalancer']) == 1


def test_failed_attach_to_existing_pool_removes_added_members(lab):
    """Members that were added to an existing pool are removed after a failure."""
    lb, pool = lab.foreign('10.0.0.100')
    lab.batch_members = False

    def refuse_the_second(call):
        if call.name == 'create_member' and call.arguments[1]['address'] == '10.0.0.2':
            raise ApiError('Quota has been met for resources: member', 403)
        return call.act()

    lab.around = refuse_the_second
    policy = load_balancing_policy(loadbalancer=lb, pool={'id': pool})
    reply = lab.attach(bind(policy, [connected(number) for number in (1, 2, 3)]))

    assert reply == {
        'status': 'ERROR',
        'reason': "Failed in adding nodes into lb pool: ['n2'] (n2: "
        'Octavia responded with status 403: Quota has been met for resources: member)',
        'warnings': [],
        'policy': {'id': 'pol-loadbalance', 'data': {}},
        'cluster': None,
        'nodes': {},
    }
    assert lab.addresses() == ['10.0.0.100']
