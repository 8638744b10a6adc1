"""A RabbitMQ cluster whose nodes are killed under load: no confirmed request is lost."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from subprocess import CalledProcessError

import pytest

from tests.cluster import SIZE, Cluster
from tests.freezing import frozen
from tests.functional.engine import repeat
from tests.functional.outages.harness import served_after
from tests.functional.test_delivery import settled
from tests.waiting import wait_for

pytestmark = pytest.mark.long
CALLS_PER_KILL = 70
# Longer than the cluster needs to elect leaders on a loaded machine.
PATIENT = {'reply_timeout_s': 100}
CASTS = 500
SETTINGS = 'net_ticktime = 8\n'  # as page install says; 60 s by default
POLICY = '{"consumer-disconnected-timeout": 10000}'


@pytest.fixture(scope='module')
def cluster():
    with contextlib.closing(Cluster(settings=SETTINGS)) as nodes:
        yield nodes.start()


@pytest.fixture
def worker(cluster, start_worker):
    return start_worker(url=cluster.url, workers=2, threads=3, **PATIENT)


def test_cluster_with_each_node_killed_in_turn_loses_no_cast_and_no_call(cluster, worker, engine):
    """A cluster whose nodes are killed in turn loses no confirmed cast and fails no call."""
    busy = settled(engine(worker), *cluster.nodes)
    enough = repeat(lambda: busy.waiting() < 100 and busy.cast(20), every_s=0.1)
    try:
        for node in cluster.nodes:
            first = len(busy.calls)
            busy.renew_client()
            busy.call(CALLS_PER_KILL)
            wait_for(busy.calls[first].done)
            assert not all(call.done() for call in busy.calls), (
                'the kill would meet no call in flight'
            )
            node.kill()
            time.sleep(1)
            node.start()
            cluster.await_all()
    finally:
        enough()
    while len(busy.confirmed) < CASTS:
        busy.cast(20)

    assert busy.lost(timeout_s=120) == set()
    assert busy.answered() == {'OK': CALLS_PER_KILL * SIZE + 1}
    print(f'{len(busy.confirmed)} casts, {len(busy.calls)} calls, {busy.ran_twice()} begun twice')


def test_cluster_with_two_of_three_nodes_dead_loses_nothing_and_serves_when_the_second_returns(
    cluster, worker, engine, start_worker
):
    """Without a majority no request gets a reply and nothing is lost; with one again, the worker
    serves. A worker on the node that is left keeps its connection.
    """
    placed = start_worker(url=cluster.nodes[0].url, **PATIENT)
    busy = settled(engine(worker), *cluster.nodes)
    busy.cast(20)
    assert busy.lost(timeout_s=120) == set()
    for node in cluster.nodes[1:]:
        node.kill()

    before = len(busy.replies)
    busy.call(10)
    casting = threading.Thread(target=busy.cast, args=(20,))
    casting.start()
    time.sleep(10)
    answered = len(busy.replies) - before + sum(call.done() for call in busy.calls[-10:])
    cluster.nodes[1].start()
    took = served_after(worker, cluster.url)
    cluster.nodes[2].start()
    casting.join()

    assert answered == 0
    assert 'Lost the connection' not in placed.log.read_text()
    assert busy.lost(timeout_s=120) == set()
    assert busy.answered() == {'OK': 11}
    print(f'two of three nodes dead: served {took:.1f} s after the second returned')


def test_call_on_a_host_that_vanishes_is_answered_by_another_worker(cluster, start_worker, gate):
    """A caller of a worker whose host falls silent waits less than its usual timeout."""
    vanishing, *others = cluster.nodes
    with contextlib.suppress(CalledProcessError):  # RabbitMQ before 4.3 has no such policy
        vanishing.control('set_policy', '--apply-to', 'quorum_queues', 'test', '^test-', POLICY)
    lost = start_worker(url=vanishing.url, workers=1, threads=1, **PATIENT)
    with contextlib.closing(lost.client(url=others[0].url)) as client, ThreadPoolExecutor(1) as one:
        call = one.submit(client.policy_check, gate.request())
        wait_for(gate.begun)
        other = start_worker(url=others[1].url, topic=lost.topic, **PATIENT)
        began = time.monotonic()
        with frozen(lost.process.pid, *lost.children(), vanishing.pid):
            gate.open()
            answer = call.result().action.data['status']
            took = time.monotonic() - began

    assert answer == 'OK'
    assert 'was redelivered' in other.log.read_text()
    print(f'host vanished: another worker replied after {took:.1f} s')
