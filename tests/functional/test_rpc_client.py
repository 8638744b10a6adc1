"""The connections of the client: lost ones, many callers, and processes that fork."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from kombu.connection import Connection

from placement_worker.late_ack import server
from tests.factories import request, zone_policy
from tests.functional.conftest import amqp, responds
from tests.waiting import DEADLINE_S, wait_for

LOST = 'client unexpectedly closed TCP connection'
# More callers than connections that the client publishes on.
CALLERS, CALLS = 48, 10
HEARTBEAT_S = 3  # between heartbeats of the broker


@pytest.fixture
def worker(start_worker, own_broker):
    return start_worker(url=own_broker.url)


def numbered(number):
    """Return a request whose reply has the number of its zones, and its own id."""
    return request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], id=f'act-{number}')


def test_calls_of_many_threads_get_their_own_replies(worker):
    """Threads share the connections and the reply queue, and no reply reaches another caller."""
    with closing(worker.client()) as client, ThreadPoolExecutor(CALLERS) as threads:
        numbers = range(CALLERS * CALLS)
        replies = threads.map(lambda number: client.policy_check(numbered(number)), numbers)

        assert [reply.action.id for reply in replies] == [f'act-{number}' for number in numbers]


def test_call_in_flight_gets_its_reply_although_its_connection_is_closed(worker, own_broker, gate):
    """A failover during the decision costs the caller nothing: it connects again and receives."""
    with closing(worker.client()) as client, ThreadPoolExecutor(1) as caller:
        called = caller.submit(client.policy_check, gate.request('one'))
        wait_for(lambda: gate.begun() == ['one'])
        own_broker.control('close_all_connections', 'test')
        gate.open()

        assert called.result().action.data['status'] == 'OK'


@pytest.mark.long
def test_request_that_its_queue_does_not_confirm_is_sent_again(
    worker, own_broker, monkeypatch, caplog
):
    """A queue without a leader holds up a request in bounded time, although heartbeats go on.

    The next attempt is on another node.
    """
    hosts, connect = [], Connection._establish_connection

    def connect_noted(connection):
        hosts.append(connection.hostname)
        return connect(connection)

    monkeypatch.setattr(Connection, '_establish_connection', connect_noted)
    monkeypatch.setattr(server, 'CONFIRM_S', HEARTBEAT_S + 1)
    queue = f"{{'%2F_{worker.topic}', node()}}"
    port = own_broker.port  # two names of one node stand for two nodes
    url = f'rabbit://guest:guest@127.0.0.1:{port},guest:guest@localhost:{port}/'
    with closing(worker.client(url=url)) as client, ThreadPoolExecutor(1) as caller:
        client.policy_check(numbered(0))
        own_broker.control('eval', f'sys:suspend({queue}).')
        called = caller.submit(client.policy_check, numbered(1))
        wait_for(lambda: server.NOT_CONFIRMED in caplog.text)
        own_broker.control('eval', f'sys:resume({queue}).')

        assert called.result().action.id == 'act-1'
        assert set(hosts) == {'127.0.0.1', 'localhost'}


def test_reply_queue_that_is_deleted_serves_the_calls_after_it(worker, own_broker):
    """The client declares its queue again when the broker cancels the consumer."""
    with closing(worker.client()) as client:
        client.policy_check(numbered(0))
        listed = own_broker.control('list_queues', 'name').split()
        (queue,) = [
            name for name in listed if name.startswith('reply_') and consumers(own_broker.url, name)
        ]
        own_broker.control('delete_queue', queue)

        wait_for(lambda: responds(client))


def consumers(url, queue):
    with amqp(url) as connection:
        return connection.default_channel.queue_declare(queue, passive=True).consumer_count


def test_child_and_parent_call_after_a_fork(worker):
    """A client that a process made before it forked serves both processes."""
    with closing(worker.client()) as client:
        client.policy_check(numbered(0))
        pid = os.fork()
        if pid == 0:
            signal.alarm(DEADLINE_S)  # it may wait for a lock that another thread held at the fork
            try:
                os._exit(client.policy_check(numbered(1)).action.id != 'act-1')
            finally:
                os._exit(2)
        reply = client.policy_check(numbered(2))
        _, status = os.waitpid(pid, 0)

        assert reply.action.id == 'act-2'
        assert os.waitstatus_to_exitcode(status) == 0
        assert client.policy_check(numbered(3)).action.id == 'act-3'


def test_closed_client_leaves_neither_threads_nor_connections(worker, own_broker):
    """An engine may create and close clients for as long as it runs."""
    log = own_broker.folder / 'log' / f'{own_broker.name}.log'
    before = set(threading.enumerate()), open_sockets(), log.read_text().count(LOST)
    for number in range(3):
        with closing(worker.client()) as client:
            client.policy_check(numbered(number))

    assert set(threading.enumerate()) == before[0]
    assert open_sockets() == before[1]
    assert log.read_text().count(LOST) == before[2]


def open_sockets():
    folder = Path('/proc/self/fd')
    links = [os.readlink(folder / name) for name in os.listdir(folder) if (folder / name).exists()]
    return sum(link.startswith('socket:') for link in links)
