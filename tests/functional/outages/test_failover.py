"""Connections that are lost or silent, and parts of the broker that are deleted: the worker is
served again.
"""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from placement_worker.errors import RequestParked
from tests.functional.conftest import amqp
from tests.functional.engine import TO, slow
from tests.functional.outages.harness import comes_about, served_after
from tests.ports import free_ports
from tests.tcp_relay import Relay
from tests.waiting import wait_for

pytestmark = pytest.mark.long
ROUNDS = 6
LOSS_EVERY_S, LOSSES = 5, 8


@pytest.fixture
def relay(own_broker):
    relay = Relay(own_broker.port)
    yield relay
    relay.close()


@pytest.mark.parametrize('dead', [0, 1, 2])
def test_worker_with_one_of_three_hosts_dead_serves_again_after_lost_connections(
    dead, start, own_broker, relay
):
    """A worker finds a live host again, whichever of its three hosts is dead."""
    ports = [own_broker.port, relay.port]
    ports.insert(dead, *free_ports(1))
    hosts = ','.join(f'guest:guest@127.0.0.1:{port}' for port in ports)
    worker = start(url=f'rabbit://{hosts}/')
    took = []
    for _ in range(ROUNDS):
        own_broker.control('close_all_connections', 'test')
        took.append(served_after(worker, own_broker.url))

    seconds = ', '.join(f'{one:.1f} s' for one in took)
    print(f'host {dead + 1} of 3 dead: served again after {seconds}')


def test_worker_on_half_open_connections_detects_and_replaces_them(start, own_broker, relay):
    """A worker notices that its connections carry nothing, logs it, and makes new ones."""
    worker = start(url=f'rabbit://guest:guest@127.0.0.1:{relay.port}/')
    with (
        closing(worker.client(url=own_broker.url, timeout_s=600)) as client,
        ThreadPoolExecutor(1) as callers,
    ):
        began = time.monotonic()
        relay.silence()
        # The broker still sends it to the silent connection.
        lost = callers.submit(client.policy_check, slow(0))

        loss = f'Lost the connection to the broker at 127.0.0.1:{relay.port}'
        detected = comes_about(lambda: loss in worker.log.read_text())
        served = served_after(worker, own_broker.url) + detected
        assert lost.result().action.data['status'] == 'OK'

    answered = time.monotonic() - began
    print(
        f'half-open: detected after {detected:.1f} s, served after {served:.1f} s, '
        f'all after {answered:.1f} s'
    )


def test_slow_call_whose_connections_are_lost_again_and_again_is_not_parked(
    start, own_broker, tmp_path
):
    """A harmless call that lost connections redeliver is begun at most once per process."""
    worker, runs = start(workers=6), tmp_path / 'runs'
    with closing(worker.client(timeout_s=600)) as client, ThreadPoolExecutor(1) as callers:
        reply = callers.submit(client.policy_check, slow(LOSS_EVERY_S * LOSSES, runs))
        wait_for(runs.exists)
        losses = 0
        while not reply.done():
            own_broker.control('close_all_connections', 'test')
            losses += 1
            time.sleep(LOSS_EVERY_S)

    begun = len(runs.read_text().split())
    print(f'connections lost {losses} times during a call of 40 s: begun {begun} times')
    assert reply.result().action.data['status'] == 'OK'
    assert begun <= 6
    assert 'moving it to' not in worker.log.read_text()


def test_queues_deleted_at_run_time_are_declared_and_consumed_again(start, own_broker):
    """Queues that are deleted while the worker runs have a consumer again."""
    worker = start()
    suffixes = '', '.testhost', '-slow', '-slow.testhost', '-suspects'
    queues = {f'{worker.topic}{suffix}' for suffix in suffixes}
    with amqp(own_broker.url) as connection:
        for queue in queues:
            connection.default_channel.queue_delete(queue)

    took = comes_about(lambda: queues <= set(own_broker.control('list_consumers').split()))
    took += served_after(worker, own_broker.url)
    print(f'queues deleted: served again after {took:.1f} s')


def test_exchange_deleted_at_run_time_is_declared_and_bound_by_the_next_client(start, own_broker):
    """The next request declares the exchange, and finds and binds the queue of the worker."""
    worker = start()
    with amqp(own_broker.url) as connection:
        connection.default_channel.exchange_delete('placement_worker')

    took = served_after(worker, own_broker.url)

    print(f'exchange deleted: served again after {took:.1f} s')


def test_parked_queue_deleted_at_run_time_is_declared_again_for_the_next_poison_message(
    start, own_broker
):
    """A poison message is parked although the parking lot was deleted at run time."""
    worker = start(max_deliveries=1)
    with amqp(own_broker.url) as connection:
        connection.default_channel.queue_delete(f'{worker.topic}-parked')

    with closing(worker.client(timeout_s=120)) as client, pytest.raises(RequestParked):
        client.policy_check(slow(0, name='poison', signal=signal.SIGKILL))

    with amqp(own_broker.url) as connection:
        assert connection.default_channel.basic_get(f'{worker.topic}-parked')


@pytest.mark.parametrize('outage', ['killed', 'frozen'])
@pytest.mark.parametrize('busy', [False, True], ids=['idle', 'busy'])
def test_worker_whose_broker_is_away_stops(outage, busy, start, own_broker, gate):
    """A worker without its broker ends after SIGTERM, also with a reply that it cannot send."""
    worker = start()
    with closing(worker.client()) as client:
        if busy:
            client.cast_check(gate.request(), TO)
            wait_for(gate.begun)
        with own_broker.frozen() if outage == 'frozen' else own_broker.killed():
            gate.open()
            time.sleep(2)  # a reply that it cannot send meets the stop
            began = time.monotonic()
            worker.stop()
            took = time.monotonic() - began

    print(f'broker {outage}, worker {"busy" if busy else "idle"}: stopped after {took:.1f} s')
