"""Faults between the worker and Octavia."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.handlers.service import Endpoints
from tests.integration import faults
from tests.integration.clusters import succeeded
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
    '503': faults.respond(503, Retry_After='1'),
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

    succeeded(web.attach())
    assert web.counts() == [1, 1, 1, 1, 3]
    octavia.inject(fault, 'PUT', 'members')
    succeeded(web.added(web.grow(2)))
    assert len(web.member_ids()) == 5
    for count in (1, 2):
        octavia.inject(fault, 'PUT', 'members')
        web.shrink(count)
    assert len(web.member_ids()) == 2
    web.end()


@pytest.mark.long
def test_provider_without_nested_creation_and_batches_gets_one_change_at_a_time(cluster, proxy):
    """The parts are created one by one, and members are changed one by one."""
    octavia = proxy('load-balancer')
    octavia.inject(refused(501, 'Provider does not support it'), 'POST', 'loadbalancers')
    octavia.inject(refused(501, 'not supported'), 'PUT', 'members', times=float('inf'))
    web = cluster(3)

    succeeded(web.attach())
    assert web.counts() == [1, 1, 1, 1, 3]
    shrunk = web.shrink(2)

    assert shrunk['decisions'][0]['details']['updates'] == 2
    assert web.counts() == [1, 1, 1, 1, 1]
    web.end()


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
    assert not any(web.counts())
    assert reply['nodes'] == {}


class Killed(BaseException):
    """A crash of the worker."""


@pytest.mark.parametrize('after', [False, True], ids=['before', 'after'])
@pytest.mark.parametrize('at', ['create', 'update_members'])
def test_attach_after_crash_adopts_existing_objects(openstack, cluster, endpoints, at, after):
    """After a crash during an attachment, the next attempt adopts the objects that exist."""
    web = cluster(2)

    def crash(call, make):
        response = make() if after or call.method != f'octavia.{at}' else None
        if call.method == f'octavia.{at}':
            raise Killed
        return response

    web.endpoints = Endpoints(InterceptedClouds(endpoints._clouds, crash), endpoints._registry)
    with pytest.raises(Killed):
        web.attach()
    web.endpoints = endpoints

    succeeded(web.attach())

    assert web.counts() == [1, 1, 1, 1, 2]
    web.end()


@pytest.mark.long
@pytest.mark.usefixtures('row_locks')
def test_concurrent_copies_of_attachment_create_one_load_balancer(openstack, cluster):
    """Two copies of one attachment never create two load balancers."""
    with ThreadPoolExecutor(2) as workers:
        for _ in range(COPIES):
            web = cluster(2)
            replies = list(workers.map(web.endpoints.policy_attach, [web.binding] * 2))

            there = {balancer.id for balancer in web.remaining()['loadbalancers']}
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
            web.end()
