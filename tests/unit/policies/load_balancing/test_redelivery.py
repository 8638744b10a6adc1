"""Tests for requests that are handled again after a worker was killed."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import bind, connected, load_balancing_policy, node

BUSY = 'Octavia responded with status 503: busy'


class Killed(BaseException):
    """The death of the worker: no handler may catch it."""


def killed(lab, asked, name):
    """Attach, and end the worker after the first call of this name."""

    def kill(call):
        answer = call.act()
        if call.name == name:
            raise Killed
        return answer

    lab.around = kill
    with pytest.raises(Killed):
        lab.attach(asked)
    lab.around = lambda call: call.act()


def busy(lab, name, times=10):
    """Let Octavia respond with status 503 to calls of this name; the default fails all attempts."""
    left = [None] * times

    def refuse(call):
        if call.name == name and left:
            left.pop()
            raise ApiError('busy', 503)
        return call.act()

    lab.around = refuse


def cause_in(reply):
    """Return the cause in a reply, whether of the first node that failed or of all."""
    return reply['reason'].rpartition('(n1: ')[2].partition(';')[0].removesuffix(')')


def own(*members, **properties):
    return bind(load_balancing_policy(**properties), members or [connected(1), connected(2)])


def test_load_balancer_in_error_after_a_kill_is_deleted(lab):
    """A load balancer that is in ERROR after a worker was killed is deleted."""
    lab.pending_s = 5
    killed(lab, own(), 'create')
    with lab.store.changing() as state:
        for pending in state['R1']['pending'].values():
            pending['then'] = 'ERROR'

    reply = lab.attach(own())

    assert (reply['status'], reply['reason'].endswith(' is in ERROR')) == ('ERROR', True)
    assert lab.is_empty()


@pytest.mark.parametrize(
    ('members', 'properties', 'reason'),
    [
        (
            [connected(1), node(3)],
            {},
            "Failed in adding nodes into lb pool: ['n3'] (n3: The node has no address",
        ),
        (
            [],
            {'pool': {'subnet': 'none'}},
            'Subnet none of `pool.subnet` does not exist in the cloud.',
        ),
        (
            [],
            {'vip': {'subnet': 'none'}},
            'Subnet none of `vip.subnet` does not exist in the cloud.',
        ),
    ],
)
def test_redelivered_attach_that_cannot_succeed_leaves_no_load_balancer(
    lab, members, properties, reason
):
    """A redelivered attachment that cannot succeed any more removes the earlier objects."""
    killed(lab, own(), 'update_members')

    reply = lab.attach(own(*members, **properties))

    assert reply['status'] == 'ERROR'
    assert reply['reason'].startswith(reason)
    assert lab.is_empty()


@pytest.mark.parametrize('name', ['show', 'members'])
def test_existing_pool_is_cleared_if_octavia_fails_to_show_it(lab, name):
    """Members of an earlier attempt leave a preexisting pool even if its lookup fails."""
    _, pool = lab.foreign('10.0.0.100')
    asked = own(loadbalancer='front', pool={'id': pool})
    killed(lab, asked, 'update_members')
    lab.clock.now += 10
    busy(lab, name)

    reply = lab.attach(asked)

    assert (reply['status'], cause_in(reply)) == ('ERROR', BUSY)
    assert lab.addresses() == ['10.0.0.100']


@pytest.mark.parametrize('change', [{'loadbalancer': 'twin'}, {'health_monitor': {'id': 'none'}}])
def test_existing_pool_is_cleared_if_named_objects_are_missing(lab, change):
    """Members of an earlier attempt leave a preexisting pool if a named object is missing."""
    _, pool = lab.foreign('10.0.0.100')
    killed(lab, own(loadbalancer='front', pool={'id': pool}), 'update_members')
    for _ in range(2):
        lab.octavia(None).create('loadbalancer', {'name': 'twin'})

    reply = lab.attach(own(**{'loadbalancer': 'front', 'pool': {'id': pool}, **change}))

    assert (reply['status'], 'could not be removed' in reply['reason']) == ('ERROR', False)
    assert lab.addresses() == ['10.0.0.100']


def test_load_balancer_is_deleted_if_its_members_cannot_be_listed(lab):
    """The load balancer of an earlier attempt is deleted if its members cannot be listed."""
    killed(lab, own(), 'update_members')
    lab.clock.now += 10
    busy(lab, 'members')

    reply = lab.attach(own())

    assert (reply['status'], cause_in(reply)) == ('ERROR', BUSY)
    assert lab.is_empty()


def test_reason_names_objects_that_cannot_be_looked_up(lab):
    """The reason names objects of an earlier attempt that cannot be looked up."""
    killed(lab, own(), 'update_members')
    busy(lab, 'find', times=10**6)

    reply = lab.attach(own())

    assert reply['reason'] == (
        'Octavia responded with status 503: busy; what an earlier try may have made could not be '
        'removed: Octavia responded with status 503: busy'
    )


def test_expired_copy_removes_nothing(lab):
    """An expired copy removes nothing: the policy may have been attached again."""
    killed(lab, own(), 'update_members')
    late = {**own(), 'expires_at': lab.clock.after(5)}

    def dawdle(call):
        lab.clock.now += 10
        return call.act()

    lab.around = dawdle
    reply = lab.attach(late)

    assert (reply['status'], reply['reason']) == ('ERROR', 'Request expired')
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


@pytest.mark.parametrize('properties', [{}, {'loadbalancer': 'front'}])
@pytest.mark.parametrize('fault', ['no address', 'no subnet', 'busy', 'member refused'])
def test_failed_attach_of_an_attached_policy_keeps_its_objects(lab, properties, fault):
    """A failed repeated attachment of an attached policy removes nothing."""
    if properties:
        properties = {'loadbalancer': 'front', 'pool': {'id': lab.foreign('10.0.0.100')[1]}}
    policy, members = lab.attached([connected(1), connected(2)], **properties)
    before = lab.settled()
    members = [*members, node(3) if fault == 'no address' else connected(3)]
    if fault == 'no subnet':
        policy['spec']['properties']['pool']['subnet'] = 'none'
    if fault == 'busy':
        busy(lab, 'members')
    if fault == 'member refused':
        lab.batch_members = False
        lab.around = lambda call: refused() if call.name == 'create_member' else call.act()

    reply = lab.attach(bind(policy, members))

    assert reply['status'] == 'ERROR'
    assert reply['policy']['data'] == policy['data']
    assert lab.settled() == before


def refused():
    raise ApiError('Quota has been met for resources: member', 403)
