"""No request is lost, whatever dies: the promise of doc/source/delivery.rst, with real processes
and a real broker.
"""

import json
import os
import shlex
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker.client.connection import connect, transport_url
from placement_worker.contract.topics import EXCHANGE
from placement_worker.errors import NoWorkerAnswered, WorkerFailed
from placement_worker.messaging.late_ack import LateAckServer
from tests.factories import request, zone_policy
from tests.functional.conftest import Worker, amqp
from tests.functional.engine import repeat, slow
from tests.malformed_requests import GOOD

HERE = Path(__file__).parent
CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}
KILLS = 15
PYTHONPATH = {**os.environ, 'PYTHONPATH': str(HERE / 'plugin')}


@pytest.fixture
def start(start_worker, own_broker):
    """Start a worker that knows the slow policy, on the broker that may be killed; it ends with the
    test.
    """
    workers = []

    def starting(**options):
        worker = start_worker(CLOUD, url=own_broker.url, **{'environment': PYTHONPATH, **options})
        workers.append(worker)
        return worker

    yield starting
    for worker in workers:
        worker.stop()


def redelivered(worker):
    return worker.log.read_text().count('is delivered again')


def kill_one_with_work(worker, timeout_s=60):
    """Kill a process of the worker, and see that what it had in hand is delivered again.

    One that has just begun may have nothing in hand yet: then another one is killed.
    """
    before, processes = redelivered(worker), len(worker.children())
    for _ in range(KILLS):
        os.kill(worker.children()[0], signal.SIGKILL)
        hit = _comes_about(lambda: redelivered(worker) > before, timeout_s / 6)
        _wait_for(lambda: len(worker.children()) == processes, timeout_s)
        if hit:
            break
    return redelivered(worker) - before


def _comes_about(condition, timeout_s):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _wait_for(condition, timeout_s=60):
    assert _comes_about(condition, timeout_s), 'it did not come about in time'


@pytest.mark.long
def test_no_cast_and_no_call_is_lost_when_processes_are_killed(start, engine):
    worker = start(workers=2, threads=3)
    busy = engine(worker)
    busy.call(200)
    busy.cast(500)
    enough = repeat(
        lambda: busy.waiting() < 100 and busy.cast(20), every_s=0.1
    )  # or a kill would find nothing

    again = [kill_one_with_work(worker) for _ in range(KILLS)]
    enough()

    assert all(count > 0 for count in again)
    assert busy.lost(timeout_s=120) == set()
    assert len(busy.confirmed) >= 500
    assert busy.answered() == {'OK': 200}
    print(
        f'{KILLS} kills, {sum(again)} deliveries again, {busy.ran_twice()} of '
        f'{len(busy.confirmed) + 200} requests were begun twice'
    )


@pytest.mark.long
def test_the_stock_server_loses_casts_when_processes_are_killed(start, engine):
    """The control: the test above can fail."""
    worker = start(workers=2, threads=3, command=(sys.executable, str(HERE / 'stock_worker.py')))
    busy = engine(worker)
    busy.cast(200)

    for _ in range(3):
        before = worker.children()
        os.kill(before[0], signal.SIGKILL)
        _wait_for(lambda before=before: len(worker.children()) == 2 and worker.children() != before)

    lost = busy.lost(timeout_s=15)
    assert lost
    print(f'the stock server lost {len(lost)} of 200 casts to 3 kills')


@pytest.mark.long
def test_nothing_confirmed_is_lost_when_the_broker_is_killed_and_restarted(
    start, engine, own_broker
):
    worker = start(workers=2, threads=3)
    busy = engine(worker)
    casting = threading.Thread(target=busy.cast, args=(250,))
    casting.start()
    busy.call(60)
    time.sleep(1.5)

    own_broker.kill()
    time.sleep(1)
    own_broker.start()

    casting.join()
    assert busy.lost(timeout_s=120) == set()
    ended = busy.answered()
    assert set(ended) <= {'OK', 'not confirmed'}
    print(
        f'{len(busy.confirmed)} casts confirmed, calls: {dict(ended)}, {busy.ran_twice()} begun twice'
    )


@pytest.mark.long
def test_nothing_confirmed_is_lost_when_all_connections_are_closed_every_second(
    start, engine, own_broker
):
    worker = start(workers=2, threads=3)
    busy = engine(worker)
    casting = threading.Thread(target=busy.cast, args=(800,))
    stop = repeat(lambda: own_broker.control('close_all_connections', 'test'), every_s=1)
    began = time.monotonic()
    casting.start()
    busy.call(160)
    casting.join()
    time.sleep(max(0, 20 - (time.monotonic() - began)))
    stop()

    assert busy.lost(timeout_s=120) == set()
    ended = busy.answered()
    assert set(ended) <= {'OK', 'not confirmed'}
    print(
        f'{len(busy.confirmed)} casts confirmed, calls: {dict(ended)}, {busy.ran_twice()} begun twice'
    )


def test_a_worker_that_is_stopped_gives_back_what_waits_and_answers_the_rest(start):
    first = start(workers=1, threads=16)
    second = start(workers=1, threads=16, topic=first.topic)
    with closing(first.client()) as client, ThreadPoolExecutor(20) as callers:
        calls = [callers.submit(client.policy_check, slow(1)) for _ in range(20)]
        time.sleep(0.5)
        began = time.monotonic()
        first.process.terminate()
        status = first.process.wait(20)
        took = time.monotonic() - began
        answers = [call.result(20).action.data['status'] for call in calls]

    assert answers == ['OK'] * 20
    assert status == 0
    assert took < 3
    assert second.process.poll() is None


def test_what_waits_for_a_thread_at_a_stop_is_answered_by_another_worker(start):
    """Ten requests, all of them with the first worker, two begun: the second one comes too late to
    take its share.
    """
    first = start(workers=1, threads=10)
    os.kill(first.children()[0], 0)
    with closing(first.client(timeout_s=30)) as client, ThreadPoolExecutor(10) as callers:
        calls = [callers.submit(client.policy_check, slow(2)) for _ in range(10)]
        time.sleep(0.5)
        second = start(workers=1, threads=10, topic=first.topic)
        first.process.terminate()
        answers = [call.result(30).action.data['status'] for call in calls]

    assert answers == ['OK'] * 10
    assert first.process.wait(20) == 0
    assert second.process.poll() is None


@pytest.mark.long
def test_a_decision_does_not_wait_for_slow_requests(start):
    worker = start(workers=1, slow_threads=2)
    decided = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')])
    with (
        closing(worker.client(topic=f'{worker.topic}-slow', timeout_s=30)) as waiting,
        closing(worker.client()) as deciding,
        ThreadPoolExecutor(4) as callers,
    ):
        slow_ones = [callers.submit(waiting.policy_check, slow(3)) for _ in range(4)]
        time.sleep(0.5)
        took = []
        for _ in range(10):
            began = time.monotonic()
            deciding.policy_check(decided)
            took.append(time.monotonic() - began)
        still_waiting = [one for one in slow_ones if not one.done()]
        answers = [one.result(30).action.data['status'] for one in slow_ones]

    assert len(still_waiting) == 4
    assert sorted(took)[len(took) // 2] < 0.1
    assert answers == ['OK'] * 4


@pytest.mark.long
def test_workers_are_replaced_one_after_the_other_under_load(start):
    """A rolling restart: the new process joins the queue, then the old one leaves; no caller
    notices.
    """
    old = start(workers=1)
    failures, answered = [], []
    enough = threading.Event()

    def calling():
        with closing(old.client(timeout_s=30)) as client:
            while not enough.is_set():
                try:
                    answered.append(client.policy_check(slow(0.05)).action.data['status'])
                except Exception as exc:
                    failures.append(exc)

    callers = [threading.Thread(target=calling) for _ in range(6)]
    for caller in callers:
        caller.start()
    for _ in range(2):
        new = start(workers=1, topic=old.topic)
        assert old.stop() == 0
        old = new
        time.sleep(0.5)
    enough.set()
    for caller in callers:
        caller.join()

    assert failures == []
    assert set(answered) == {'OK'}
    assert len(answered) > 10


def test_a_handler_that_ends_its_process_is_answered_and_does_not_come_again(start, tmp_path):
    worker = start(workers=1)
    runs = tmp_path / 'runs'

    with closing(worker.client()) as client:
        with pytest.raises(WorkerFailed, match='policy_check failed in the worker: SystemExit: 3'):
            client.policy_check(slow(0, runs, 'fatal', exits=True))
        assert client.policy_check(GOOD).action.data['status'] == 'OK'

    assert runs.read_text() == 'fatal\n'


@pytest.mark.parametrize('how', ['fails', 'strange'])
@pytest.mark.parametrize('form', [json.dumps, dict], ids=['text', 'object'])
def test_what_cannot_be_serialised_is_told_as_a_fault_and_not_waited_for(start, how, form):
    """A policy may raise or return what no message can hold."""
    worker = start(workers=1)
    address = transport_url(cfg.CONF, worker.url)
    connection = connect(cfg.CONF, address)
    target = oslo_messaging.Target(exchange=EXCHANGE, topic=worker.topic, version='1.0')
    raw = oslo_messaging.get_rpc_client(connection, target, timeout=10)

    with pytest.raises(
        WorkerFailed, match=r'policy_check failed in the worker: (RuntimeError|TypeError)'
    ):
        raw.call({}, 'policy_check', request=form(slow(0, **{how: True})))
    connection.cleanup()


def test_other_drivers_get_the_stock_server_and_a_loud_warning(caplog):
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    transport = oslo_messaging.get_rpc_transport(conf, url='fake://')
    target = oslo_messaging.Target(exchange='e', topic='t', server='s')
    server = oslo_messaging.get_rpc_server(transport, target, [], server_cls=LateAckServer)
    server.start()
    server.stop()
    server.wait()

    (warning,) = [
        record for record in caplog.records if record.name == 'placement_worker.messaging.late_ack.server'
    ]
    assert warning.levelname == 'WARNING'
    assert 'FakeDriver acknowledges requests BEFORE they are handled' in warning.message


@pytest.mark.parametrize('what', ['exchange', 'queue'])
def test_a_queue_that_would_not_survive_is_told_at_start_with_the_command_that_mends_it(
    what, own_broker, tmp_path
):
    topic, exchange = f'test-mismatch-{what}', f'test-mismatch-{what}'
    with amqp(own_broker.url) as connection:
        if what == 'exchange':
            connection.default_channel.exchange_declare(
                exchange, 'topic', durable=False, auto_delete=False
            )
        else:
            connection.default_channel.queue_declare(topic, durable=True, auto_delete=False)
    settings = f'control_exchange = {exchange}'

    worker = Worker(tmp_path, own_broker.url, CLOUD, settings, topic=topic)
    status = worker.process.wait(30)
    error = worker.stderr.read_text().strip().splitlines()[-1]

    assert status == 2
    assert error.startswith(
        f'placement-worker: {what.capitalize()} {topic} exists on the broker with other options than'
    )
    assert 'inequivalent arg' in error
    program, *arguments = shlex.split(error.rpartition('again: ')[2])
    assert program == 'rabbitmqctl'
    own_broker.control(*arguments)
    worker.process = worker.start()
    with closing(worker.client(exchange=exchange, timeout_s=5)) as client:
        _wait_for(lambda: _answers(client))
    assert worker.stop() == 0


def _answers(client):
    try:
        return bool(client.get_capabilities().policy_types)
    except NoWorkerAnswered:
        return False


@pytest.mark.long
def test_a_worker_waits_for_a_broker_that_is_not_there_yet(own_broker, tmp_path):
    own_broker.kill()
    worker = Worker(tmp_path, own_broker.url, CLOUD)
    _wait_for(lambda: worker.log.exists() and 'No broker answered' in worker.log.read_text())
    own_broker.start()
    with closing(worker.client(timeout_s=5)) as client:
        _wait_for(lambda: _answers(client), timeout_s=40)
    assert worker.stop() == 0


@pytest.mark.long
def test_a_process_that_has_not_found_its_broker_yet_ends_when_it_is_told_to(own_broker, start):
    worker = start(workers=1)
    before = worker.children()
    own_broker.kill()
    try:
        os.kill(before[0], signal.SIGKILL)
        _wait_for(lambda: worker.children() not in ([], before))
        time.sleep(3)  # it looks for the broker now

        began = time.monotonic()
        assert worker.stop() == 0
        assert time.monotonic() - began < 15
    finally:
        own_broker.start()


def test_options_are_read_again_on_sighup_without_a_restart(start):
    worker = start(workers=1)
    pids = worker.children()
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs={'count': 5})
    with closing(worker.client()) as client:
        assert client.policy_check(asked).action.data['status'] == 'OK'

        worker.config.write_text(worker.config.read_text() + 'max_nodes_per_cluster = 4\n')
        worker.process.send_signal(signal.SIGHUP)

        _wait_for(lambda: client.policy_check(asked).action.data['status'] == 'ERROR')
        assert client.policy_check(asked).action.data['reason'].endswith('allowed per cluster (4).')
    assert worker.children() == pids


def test_a_faulty_file_at_sighup_ends_no_process_and_is_told_of_by_each(start):
    worker = start(workers=1)
    pids = worker.children()
    with closing(worker.client()) as client:
        worker.config.write_text(worker.config.read_text() + 'max_nodes_per_cluster = 0\n')
        worker.process.send_signal(signal.SIGHUP)

        _wait_for(lambda: worker.log.read_text().count('Kept the current configuration: ') == 2)
        assert client.policy_check(GOOD).action.data['status'] == 'OK'
    assert worker.children() == pids
    assert 'Traceback' not in worker.log.read_text()


def test_a_process_that_dies_is_replaced(start):
    worker = start(workers=2)
    before = worker.children()

    os.kill(before[0], signal.SIGKILL)

    _wait_for(lambda: len(worker.children()) == 2 and worker.children() != before)
    with closing(worker.client()) as client:
        assert client.policy_check(GOOD).action.data['status'] == 'OK'
