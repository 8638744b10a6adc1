"""Faults between the worker and Octavia."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.handlers.service import Endpoints
from tests.integration import faults
from tests.integration.clusters import remaining
from tests.integration.proxy import Fault

COPIES = 5  # a test with the embedded cloud runs 20


def refused(status, words, **headers):
    """Return a fault that sends an error of Octavia."""
    body = json.dumps({'faultcode': 'Client', 'faultstring': words}).encode()
    return faults.respond(status, body, Content_Type='application/json', **headers)


TRANSIENT: dict[str, Fault] = {
    'connection reset': faults.reset,
    'reply lost': faults.reply_lost,
    'garbage': faults.garbage,
    '409 immutable': refused(409, 'Load Balancer x is immutable and cannot be updated.'),
    '429': faults.respond(429, Retry_After='1'),
    '500': faults.respond(500),
    '502': faults.respond(502),
    '503': faults.respond(503, Retry_After='1'),
    '504': faults.respond(504),
}


@pytest.mark.long
@pytest.mark.parametrize('fault', TRANSIENT.values(), ids=TRANSIENT)
def test_transient_fault_at_each_request_is_retried(openstack, cluster, proxy, fault):
    """A transient fault of any request neither fails an action nor leaves an object behind."""
    octavia = proxy('load-balancer')
    web = cluster(3)

    rules = [('PUT', 'members'), ('DELETE', 'loadbalancers'), ('DELETE', 'members')]
    if fault is not TRANSIENT['409 immutable']:  # Octavia does not send it for these
        rules += [('POST', ''), ('GET', 'loadbalancers/'), ('GET', 'members')]
    for method, target in rules:
        octavia.inject(fault, method, target)

    attached = web.attach()
    assert attached['status'] == 'OK', attached['reason']
    assert [len(objects) for objects in remaining(openstack, web.name).values()] == [1, 1, 1, 1, 3]
    octavia.inject(fault, 'PUT', 'members')
    grown = web.added(web.grow(2))
    assert grown['action']['data']['status'] == 'OK', grown['action']['data']['reason']
    assert len(remaining(openstack, web.name)['members']) == 5
    for count in (1, 2):
        octavia.inject(fault, 'PUT', 'members')
        shrunk = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': count})
        assert shrunk['action']['data']['status'] == 'OK', shrunk['action']['data']['reason']
        web.remove(shrunk['action']['data']['deletion']['candidates'])
    assert len(remaining(openstack, web.name)['members']) == 2
    detached = web.detach()
    assert detached['status'] == 'OK', detached['reason']
    assert not any(remaining(openstack, web.name).values())


@pytest.mark.long
def test_attach_without_nested_creation_creates_parts_separately(openstack, cluster, proxy):
    """With a provider that refuses nested creation, the parts are created one by one."""
    unsupported = refused(501, 'Provider does not support a requested option')
    proxy('load-balancer').inject(unsupported, 'POST', 'loadbalancers')
    web = cluster(2)

    assert web.attach()['status'] == 'OK'

    assert [len(objects) for objects in remaining(openstack, web.name).values()] == [1, 1, 1, 1, 2]
    assert web.detach()['status'] == 'OK'
    assert not any(remaining(openstack, web.name).values())


@pytest.mark.long
def test_changes_without_batch_updates_are_made_one_by_one(openstack, cluster, proxy):
    """With a provider that refuses batch updates, members are changed one by one."""
    octavia = proxy('load-balancer')
    octavia.inject(refused(501, 'not supported'), 'PUT', 'members', times=float('inf'))
    web = cluster(3)

    assert web.attach()['status'] == 'OK'
    shrunk = web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': 2})

    assert shrunk['decisions'][0]['details']['updates'] == 2
    assert len(remaining(openstack, web.name)['members']) == 1
    assert web.detach()['status'] == 'OK'


@pytest.mark.parametrize(
    ('status', 'method', 'target'),
    [(403, 'POST', 'loadbalancers'), (403, 'PUT', 'members'), (400, 'POST', 'loadbalancers')],
)
def test_attach_refused_by_octavia_leaves_nothing(
    openstack, cluster, proxy, status, method, target
):
    """The reason of a refused attachment quotes Octavia, and no object remains."""
    refusal = refused(status, 'Quota has been met for resources: pool')
    proxy('load-balancer').inject(refusal, method, target, times=float('inf'))
    web = cluster(2)

    reply = web.attach()

    assert reply['status'] == 'ERROR'
    assert f'Octavia responded with status {status}: ' in reply['reason']
    assert 'Quota has been met' in reply['reason']
    assert not any(remaining(openstack, web.name).values())
    assert reply['nodes'] == {}


class Killed(BaseException):
    """A crash of the worker."""


class CrashingOctavia:
    """An API of Octavia at whose call the worker crashes, before or after the effect."""

    def __init__(self, api, at, after):
        self._api, self._at, self._after = api, at, after

    def __getattr__(self, name):
        method = getattr(self._api, name)

        def call(*args, **kwargs):
            if name == self._at and not self._after:
                raise Killed
            response = method(*args, **kwargs)
            if name == self._at:
                raise Killed
            return response

        return call


class CrashingClouds:
    """Clouds with such an API of Octavia."""

    def __init__(self, clouds, at, after):
        self._clouds, self._at, self._after = clouds, at, after

    def acting_for(self, credentials, project):
        cloud = self._clouds.acting_for(credentials, project)
        octavia = cloud.octavia
        cloud.octavia = lambda region: CrashingOctavia(octavia(region), self._at, self._after)
        return cloud


@pytest.mark.parametrize('after', [False, True], ids=['before', 'after'])
@pytest.mark.parametrize('at', ['create', 'update_members'])
def test_attach_after_crash_adopts_existing_objects(openstack, cluster, endpoints, at, after):
    """After a crash during an attachment, the next attempt adopts the objects that exist."""
    web = cluster(2)
    web.endpoints = Endpoints(CrashingClouds(endpoints._clouds, at, after), endpoints._registry)
    with pytest.raises(Killed):
        web.attach()
    web.endpoints = endpoints

    assert web.attach()['status'] == 'OK'

    assert [len(objects) for objects in remaining(openstack, web.name).values()] == [1, 1, 1, 1, 2]
    assert web.detach()['status'] == 'OK'
    assert not any(remaining(openstack, web.name).values())


@pytest.mark.long
@pytest.mark.usefixtures('row_locks')
def test_concurrent_copies_of_attachment_create_one_load_balancer(openstack, cluster):
    """Two copies of one attachment never create two load balancers."""
    with ThreadPoolExecutor(2) as workers:
        for _ in range(COPIES):
            web = cluster(2)
            asked = {'cluster': web.cluster, 'policy': web.policy, 'credentials': web.credentials}
            replies = list(workers.map(web.endpoints.policy_attach, [asked, asked]))

            there = {balancer.id for balancer in remaining(openstack, web.name)['loadbalancers']}
            named = {
                reply['policy']['data']['LoadBalancingPolicy']['data']['loadbalancer']
                for reply in replies
                if reply['status'] == 'OK'
            }
            assert len(there) <= 1, replies
            assert named <= there, replies
            assert named or all(reply['status'] == 'ERROR' for reply in replies)
            for reply in replies:
                web.policy = {**web.policy, 'data': reply['policy']['data'] or web.policy['data']}
            assert web.detach()['status'] == 'OK'
            assert not any(remaining(openstack, web.name).values())
