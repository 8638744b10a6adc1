"""Tests for load balancing over a broker, with several worker processes."""

import collections
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import msgspec
import pytest

from tests.factories import bind, connected, load_balancing_policy, request, zone_policy
from tests.functional.copies import copies
from tests.simulated_octavia import DESCRIPTION, data_of, patched
from tests.waiting import wait_for

NOTIFICATIONS = (
    '[oslo_messaging_notifications]\ndriver = messagingv2\ntopics = test-load-balancing\n'
)
MEMBERS = [connected(number) for number in range(1, 4)]
KILLS = 8


def cloud(pending_s, **settings):
    balanced = {'pending_s': pending_s, **settings}
    return {**DESCRIPTION, 'zones': {'a': True}, 'load_balancer': balanced}


@pytest.fixture(scope='module')
def worker(start_worker):
    return start_worker(NOTIFICATIONS, cloud=cloud(0.2), workers=2)


@pytest.fixture
def client(worker):
    with closing(worker.client(slow_timeout_s=120)) as client:
        yield client


def named(name):
    """The policy of a load balancer of its own."""
    return {**load_balancing_policy(health_monitor={}), 'id': name}


def test_requests_that_may_wait_use_the_slow_topic(worker, client):
    """Only requests that may wait for a load balancer use the slow topic."""
    policy, fast, slow = named('pol-routes'), worker.topic, f'{worker.topic}-slow'
    with copies(worker.url, fast, slow) as take:
        attached = client.policy_attach(bind(policy, MEMBERS))
        policy = {**policy, 'data': attached.policy.data}
        members = patched(MEMBERS, msgspec.to_builtins(attached))
        created = {'target': 'AFTER', 'data': {'creation': {'nodes': ['n4']}}}
        for asked in (
            request('CLUSTER_SCALE_OUT', [policy], [*members, connected(4)], **created),
            request('CLUSTER_SCALE_OUT', [policy, zone_policy('a')], members),
        ):
            assert client.policy_check(asked).action.data['status'] == 'OK'
        assert client.policy_detach(bind(policy, members)).status == 'OK'

        assert [(topic, message['method']) for topic, message in take(4)] == [
            (slow, 'policy_attach'),
            (slow, 'policy_check'),
            (fast, 'policy_check'),
            (slow, 'policy_detach'),
        ]


def test_two_processes_with_copies_of_a_request_use_one_load_balancer(worker, client):
    """Copies of a request that two processes handle lead to the same load balancer."""
    asked = {name: bind(named(name), MEMBERS) for name in ('pol-a', 'pol-b', 'pol-c', 'pol-d')}
    log_so_far = len(worker.log.read_text())

    with ThreadPoolExecutor(8) as callers:
        names = [*asked] * 4
        attached = callers.map(lambda name: client.policy_attach(asked[name]), names)
        replies = list(zip(names, attached, strict=True))

    assert {reply.reason for _, reply in replies} == {'Policy attached.'}
    stored = {(name, msgspec.json.encode(reply.policy.data)) for name, reply in replies}
    assert len(stored) == len({data for _, data in stored}) == len(asked), (
        'one load balancer for each policy'
    )
    handled = re.findall(r'(\d+) INFO .* policy_attach of ', worker.log.read_text()[log_so_far:])
    assert len(collections.Counter(handled)) == 2, 'both processes have handled some'
    for request_ in asked.values():
        assert client.policy_detach(request_).status == 'OK'


def test_attach_and_detach_emit_notifications(worker, client):
    """Attaching and detaching a policy emit notifications."""
    with copies(worker.url, 'test-load-balancing.info') as take:
        reply = client.policy_attach(
            bind(named('pol-notified'), MEMBERS), {'request_id': 'request-41'}
        )
        start, end = [notification for _, notification in take(2, text='request-41')]

    assert (start['event_type'], end['event_type']) == ('policy_attach.start', 'policy_attach.end')
    decided, asked = msgspec.to_builtins(reply), {'request_id': 'request-41'}
    assert end['payload'] == {**decided, **asked, 'cluster': {'id': 'c1', **decided['cluster']}}
    assert client.policy_detach(bind(named('pol-notified'), MEMBERS)).status == 'OK'


class Kept:
    """The load balancers of a worker, in the file that it keeps them in."""

    def __init__(self, path):
        self._path = path

    def all(self, kind):
        if not self._path.exists():
            return []
        kept = msgspec.json.decode(self._path.read_bytes())
        return list(kept.get('R1', {}).get(kind, {}).values())

    def members(self):
        return [member for pool in self.all('members') for member in pool.values()]


@pytest.mark.long
def test_worker_killed_during_an_attach_leaves_one_load_balancer(start_worker, tmp_path):
    """An attachment whose worker is killed eight times leaves one complete load balancer."""
    path = tmp_path / 'load-balancers.json'
    worker = start_worker(cloud=cloud(1.0, state=str(path)), workers=1, max_deliveries=3 * KILLS)
    kept, replies = Kept(path), []
    members = [connected(number) for number in range(1, 21)]
    with closing(worker.client(slow_timeout_s=300)) as client:
        caller = threading.Thread(
            target=lambda: replies.append(client.policy_attach(bind(named('pol-killed'), members)))
        )
        caller.start()
        killed = 0
        for stage in range(KILLS):
            begun = worker.log.read_text().count('was redelivered\n')
            wait_for(
                lambda stage=stage: (
                    kept.all('loadbalancer') if stage < KILLS // 2 else kept.members()
                )
            )
            time.sleep(0.15 * stage)
            if replies:
                break
            (child,) = worker.children()
            os.kill(child, signal.SIGKILL)
            killed += 1
            wait_for(lambda begun=begun: worker.log.read_text().count('was redelivered\n') > begun)
        caller.join(timeout=300)

    (reply,) = replies
    print(f'killed {killed} times')
    assert killed >= KILLS // 2
    assert reply.status == 'OK', reply.reason
    made = reply.policy.data['LoadBalancingPolicy']['data']
    for kind in ('loadbalancer', 'listener', 'pool', 'healthmonitor'):
        assert [part['id'] for part in kept.all(kind)] == [made[kind]]
    assert sorted(member['address'] for member in kept.members()) == sorted(
        f'10.0.0.{n}' for n in range(1, 21)
    )
    known = data_of(patched(members, msgspec.to_builtins(reply)))
    assert known == {member['name']: {'lb_member': member['id']} for member in kept.members()}
