"""The delivery guarantees of doc/source/delivery.rst, with real processes and a real broker."""

import json
import os
import shlex
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker.errors import NoWorkerAnswered, QueueMismatch, WorkerFailed
from placement_worker.late_ack.server import LateAckServer
from tests.factories import request, zone_policy
from tests.functional.conftest import CLOUD, Worker, amqp, raw_client, responds
from tests.functional.engine import repeat, slow
from tests.malformed_requests import GOOD
from tests.waiting import DEADLINE_S, wait_for

HERE = Path(__file__).parent
KILLS = 15
# The timeout of calls during which workers start and stop.
CALLED_S = 300


def redelivered(worker):
    return worker.log.read_text().count('was redelivered\n')


def kill(pid):
    """Kill a process, unless it has just ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_until_redelivery(worker, processes):
    """Kill processes until a request is delivered again, and return the number of redeliveries.

    A process that has just started may have no request in flight yet.
    """
    before = redelivered(worker)
    for _ in range(KILLS):
        wait_for(lambda: len(worker.children()) == processes)
        kill(worker.children()[0])
        with suppress(AssertionError):
            return wait_for(lambda: redelivered(worker) - before, timeout_s=10)
    return 0


@pytest.mark.long
def test_no_cast_and_no_call_is_lost_when_processes_are_killed(start, engine):
    """A worker whose processes are killed under load loses no cast and no call."""
    worker = start(workers=2, threads=3)
    busy = engine(worker)
    busy.call(200)
    busy.cast(500)
    # Without enough requests a kill would hit an idle process.
    stop = repeat(lambda: busy.waiting() < 100 and busy.cast(20), every_s=0.1)

    again = [kill_until_redelivery(worker, processes=2) for _ in range(KILLS)]
    stop()

    assert all(count > 0 for count in again)
    assert busy.lost(timeout_s=120) == set()
    assert len(busy.confirmed) >= 500
    assert busy.answered() == {'OK': 200}
    print(
        f'{KILLS} kills, {sum(again)} redeliveries, {busy.ran_twice()} of '
        f'{len(busy.confirmed) + 200} requests were begun twice'
    )


@pytest.mark.long
def test_stock_server_loses_the_cast_of_a_killed_process(start, gate, tmp_path):
    """The stock server of oslo.messaging loses a request in flight: a test of kills can fail."""
    worker = start(workers=1, command=(sys.executable, str(HERE / 'stock_worker.py')))

    with closing(worker.client(timeout_s=CALLED_S)) as client:
        client.cast_check(gate.request('lost'))
        wait_for(lambda: len(gate.begun()) == 1)
        client.get_capabilities()  # acknowledgements are sent before the next request is taken
        kill(*worker.children())
        gate.open()
        reply = client.policy_check(slow(0, tmp_path / 'runs', 'decided'))

    assert reply.action.data['status'] == 'OK'
    assert len(gate.begun()) == 1


def settled(busy, *brokers):
    """Return an engine whose queues are on the disks of the brokers."""
    busy.call(1)
    busy.cast(1)
    assert busy.lost(timeout_s=120) == set()
    assert set(busy.answered()) == {'OK'}
    for broker in brokers:
        broker.flush()
    return busy


@pytest.mark.long
def test_nothing_confirmed_is_lost_when_the_broker_is_killed_and_restarted(
    start, engine, own_broker
):
    """A restart of the broker loses no request that it has confirmed."""
    worker = start(workers=2, threads=3)
    busy = settled(engine(worker), own_broker)
    casting = threading.Thread(target=busy.cast, args=(250,))
    casting.start()
    busy.call(60)
    replies = len(busy.replies)
    wait_for(lambda: len(busy.replies) > replies)

    with own_broker.killed():
        time.sleep(1)

    casting.join()
    print(busy.summary())


@pytest.mark.long
def test_nothing_confirmed_is_lost_when_all_connections_are_closed_every_second(
    start, engine, own_broker
):
    """Connections that close every second lose no confirmed request."""
    worker = start(workers=2, threads=3)
    busy = engine(worker)
    stop = repeat(lambda: own_broker.control('close_all_connections', 'test'), every_s=1)
    end = time.monotonic() + 20
    busy.call(160)
    busy.cast(800)
    time.sleep(max(0, end - time.monotonic()))
    stop()

    print(busy.summary())


def test_stopped_worker_replies_to_begun_requests_and_leaves_the_others(start, gate):
    """A worker that stops replies to what it has begun, and another worker to the rest."""
    first = start(workers=1, threads=2)
    names = {f'act-{number}' for number in range(20)}
    with (
        closing(first.client(timeout_s=CALLED_S)) as client,
        ThreadPoolExecutor(len(names)) as callers,
    ):
        calls = [callers.submit(client.policy_check, gate.request(name)) for name in names]
        wait_for(lambda: len(gate.begun()) == 2)
        first.process.terminate()
        wait_for(lambda: 'graceful exiting of service' in first.log.read_text())
        gate.open()
        assert first.stop() == 0
        begun = gate.begun()
        start(workers=1, threads=2, topic=first.topic)
        answers = [call.result().action.data['status'] for call in calls]

    assert len(begun) < len(names)
    assert answers == ['OK'] * len(names)
    assert sorted(gate.begun()) == sorted(names), 'no request was begun twice'


def test_worker_that_stops_beside_another_loses_no_request(start, gate):
    """Requests in flight when a worker stops get replies of it or of a second worker."""
    first = start(workers=1, threads=10)
    with closing(first.client(timeout_s=CALLED_S)) as client, ThreadPoolExecutor(15) as callers:
        calls = [callers.submit(client.policy_check, gate.request(f'act-{n}')) for n in range(15)]
        wait_for(lambda: len(gate.begun()) == 10)
        second = start(workers=1, threads=10, topic=first.topic)
        wait_for(lambda: len(gate.begun()) == 15)
        first.process.terminate()
        gate.open()
        answers = [call.result().action.data['status'] for call in calls]

    assert answers == ['OK'] * 15
    assert first.stop() == 0
    assert second.process.poll() is None


@pytest.mark.long
def test_check_without_a_load_balancer_does_not_wait_for_slow_requests(start, gate):
    """Slow requests occupy threads of their own, so other checks get their replies meanwhile."""
    worker = start(workers=1, slow_threads=2)
    decided = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')])
    with (
        closing(worker.client(topic=f'{worker.topic}-slow', timeout_s=CALLED_S)) as waiting,
        closing(worker.client()) as deciding,
        ThreadPoolExecutor(4) as callers,
    ):
        slow_calls = [callers.submit(waiting.policy_check, gate.request()) for _ in range(4)]
        wait_for(lambda: len(gate.begun()) == 2)
        decisions = [deciding.policy_check(decided).action.data['status'] for _ in range(10)]
        still_waiting = [call for call in slow_calls if not call.done()]
        gate.open()
        answers = [call.result().action.data['status'] for call in slow_calls]

    assert decisions == ['OK'] * 10
    assert len(still_waiting) == 4
    assert answers == ['OK'] * 4


@pytest.mark.long
def test_workers_are_replaced_one_after_the_other_under_load(start):
    """A rolling restart of the workers fails no call."""
    old = start(workers=1)
    answered, enough = [], threading.Event()

    def call():
        with closing(old.client()) as client:
            while not enough.is_set():
                answered.append(client.policy_check(slow(0.05)).action.data['status'])

    with ThreadPoolExecutor(6) as pool:
        callers = [pool.submit(call) for _ in range(6)]
        try:
            for _ in range(2):
                new = start(workers=1, topic=old.topic)
                assert old.stop() == 0
                old, before = new, len(answered)
                wait_for(lambda before=before: len(answered) > before + 10)
        finally:
            enough.set()

    assert [caller.exception() for caller in callers] == [None] * 6
    assert set(answered) == {'OK'}


def test_handler_that_raises_system_exit_is_reported_and_not_redelivered(start, tmp_path):
    """A policy that raises SystemExit fails its request alone, and only once."""
    worker = start(workers=1)
    runs = tmp_path / 'runs'

    failure = r'must not end the process; it raised SystemExit\(3\)'
    with closing(worker.client()) as client:
        with pytest.raises(WorkerFailed, match=failure):
            client.policy_check(slow(0, runs, 'fatal', exits=True))
        assert client.policy_check(GOOD).action.data['status'] == 'OK'

    assert runs.read_text() == 'fatal\n'


@pytest.mark.parametrize('how', ['fails', 'strange'])
@pytest.mark.parametrize('form', [json.dumps, dict], ids=['text', 'object'])
def test_result_that_cannot_be_serialized_is_reported_at_once(start, how, form):
    """A result or an error that no message can hold reaches the caller as WorkerFailed."""
    worker = start(workers=1)

    failure = r'policy_check failed in the worker: (RuntimeError|TypeError)'
    with raw_client(worker) as raw, pytest.raises(WorkerFailed, match=failure):
        raw.call({}, 'policy_check', request=form(slow(0, **{how: True})))


def test_driver_without_late_acknowledgement_logs_a_warning(caplog):
    """The log warns that drivers other than rabbit may lose requests."""
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    transport = oslo_messaging.get_rpc_transport(conf, url='fake://')
    target = oslo_messaging.Target(exchange='e', topic='t', server='s')
    server = oslo_messaging.get_rpc_server(transport, target, [], server_cls=LateAckServer)
    server.start()
    server.stop()
    server.wait()

    logger = 'placement_worker.late_ack.server'
    (warning,) = [record for record in caplog.records if record.name == logger]
    assert warning.levelname == 'WARNING'
    assert 'FakeDriver acknowledges requests BEFORE they are handled' in warning.message


@pytest.mark.parametrize(
    ('what', 'error_of_clients'), [('exchange', NoWorkerAnswered), ('queue', QueueMismatch)]
)
def test_worker_with_a_mismatched_queue_names_the_command_that_repairs_it(
    what, error_of_clients, own_broker, tmp_path
):
    """A worker does not start on a queue with other options; its error has a working command.

    A client says that the queue does not fit, instead of that there is none.
    """
    topic, exchange = f'test-mismatch-{what}', f'test-mismatch-{what}'
    with amqp(own_broker.url) as connection:
        channel = connection.default_channel
        if what == 'exchange':
            channel.exchange_declare(exchange, 'topic', durable=False, auto_delete=False)
        else:
            channel.queue_declare(topic, durable=True, auto_delete=False)
    settings = f'control_exchange = {exchange}'

    worker = Worker(tmp_path, own_broker.url, CLOUD, settings, topic=topic)
    status = worker.process.wait(DEADLINE_S)
    error = worker.stderr.read_text().strip().splitlines()[-1]

    named = f'{what.capitalize()} {topic} exists on the broker with other options '
    assert status == 2
    assert error.startswith(f'placement-worker: {named}')
    assert 'inequivalent arg' in error
    program, *arguments = shlex.split(error.rpartition('again: ')[2])
    assert program == 'rabbitmqctl'
    with (
        closing(worker.client(exchange=exchange)) as client,
        pytest.raises(error_of_clients, match=f'queue.* {topic}'),
    ):
        client.get_capabilities()
    own_broker.control(*arguments)
    worker.process = worker.start()
    with closing(worker.client(exchange=exchange, timeout_s=5)) as client:
        wait_for(lambda: responds(client))
    assert worker.stop() == 0


@pytest.mark.long
def test_worker_started_before_its_broker_waits_for_it(own_broker, tmp_path):
    """A worker that starts before its broker serves once the broker has started."""
    with own_broker.killed():
        worker = Worker(tmp_path, own_broker.url, CLOUD)
        wait_for(lambda: worker.log.exists() and 'No broker responded' in worker.log.read_text())
    with closing(worker.client(timeout_s=5)) as client:
        wait_for(lambda: responds(client))
    assert worker.stop() == 0


@pytest.mark.long
def test_process_without_a_broker_stops_before_it_finds_one(own_broker, start):
    """A process that still looks for its broker does not delay a stop."""
    worker = start(workers=1)
    before = worker.children()
    with own_broker.killed():
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: worker.children() not in ([], before))
        (pid,) = worker.children()
        wait_for(lambda: _looks_for_a_broker(worker, pid))

        assert worker.stop() == 0


def _looks_for_a_broker(worker, pid):
    lines = worker.log.read_text().splitlines()
    return [line for line in lines if f' {pid} ' in line and 'Connection failed: ' in line]


def test_options_are_read_again_on_sighup_without_a_restart(start):
    """SIGHUP reloads options in the running processes."""
    worker = start(workers=1)
    pids = worker.children()
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs={'count': 5})
    with closing(worker.client()) as client:
        assert client.policy_check(asked).action.data['status'] == 'OK'

        worker.config.write_text(worker.config.read_text() + 'max_nodes_per_cluster = 4\n')
        worker.process.send_signal(signal.SIGHUP)

        wait_for(lambda: client.policy_check(asked).action.data['status'] == 'ERROR')
        assert client.policy_check(asked).action.data['reason'].endswith('allowed per cluster (4).')
    assert worker.children() == pids


def test_invalid_file_at_sighup_keeps_the_configuration_of_each_process(start):
    """An invalid file at SIGHUP is reported by each process, and stops none."""
    worker = start(workers=1)
    pids = worker.children()
    with closing(worker.client()) as client:
        worker.config.write_text(worker.config.read_text() + 'max_nodes_per_cluster = 0\n')
        worker.process.send_signal(signal.SIGHUP)

        wait_for(lambda: worker.log.read_text().count('Kept the current configuration: ') == 2)
        assert client.policy_check(GOOD).action.data['status'] == 'OK'
    assert worker.children() == pids
    assert 'Traceback' not in worker.log.read_text()
