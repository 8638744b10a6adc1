"""Liveness and readiness of a worker on a real RabbitMQ."""

import json
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import yaml

from placement_worker.health.watchdog import PUBLISH_S
from tests.freezing import frozen
from tests.functional.conftest import CLOUD, Worker, amqp, configured, run
from tests.functional.engine import Gate
from tests.waiting import DEADLINE_S, wait_for

pytestmark = pytest.mark.long

POLL_AGE_S = 8
PASSWORD = 'hunter2-broker'


class Systemd:
    def __init__(self, path):
        self.path = path
        self._datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._datagrams.bind(str(path))

    def received(self, seconds):
        words, deadline = [], time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._datagrams.settimeout(left)
            try:
                words.append(self._datagrams.recv(1000).decode())
            except TimeoutError:
                break
        return words

    def received_until(self, is_enough):
        """Return all notifications up to the time at which they suffice."""
        words = []
        wait_for(lambda: words.extend(self.received(0.2)) or is_enough(words))
        return words

    def close(self):
        self._datagrams.close()


@pytest.fixture
def systemd(tmp_path):
    manager = Systemd(tmp_path / 'notify')
    yield manager
    manager.close()


@pytest.fixture
def file(tmp_path):
    return tmp_path / 'liveness'


@pytest.fixture
def start(start, systemd, file):
    watched = {'liveness_poll_age_s': POLL_AGE_S, 'liveness_file': file}
    watched |= {'threads': 2, 'slow_threads': 1}
    environment = {'NOTIFY_SOCKET': str(systemd.path)}
    return lambda **options: start(**{'environment': environment, **watched, **options})


def probe(file, name='liveness'):
    """Return exit status and message of the probe of a container."""
    done = run('placement-worker-status', name, '--file', file, '--max-age', 15)
    return done.returncode, done.stderr


def ping(worker, *arguments):
    return run('placement-policy', 'ping', '--config-file', worker.config, *arguments)


def test_ping_prints_the_process_that_replied_and_the_duration(start):
    """An operator sees which worker replied."""
    worker = start()
    (pid,) = worker.children()

    by_url = ping(worker, '-f', 'json')
    by_host = ping(worker, '--server', 'testhost', '-f', 'yaml')
    table = ping(worker)

    for done, answer in (
        (by_url, json.loads(by_url.stdout)),
        (by_host, yaml.safe_load(by_host.stdout)),
    ):
        assert (done.returncode, done.stderr) == (0, '')
        assert (answer['pid'], answer['host']) == (pid, 'testhost')
        assert answer['hostname'] == socket.gethostname()
        assert 0 < answer['elapsed_ms'] < 20000
    assert table.returncode == 0
    assert f'| {pid} ' in table.stdout


def test_reply_queue_of_a_command_expires_a_minute_after_the_command(start, own_broker):
    """Operators who run commands often find few unused queues in the lists of the broker."""
    worker = start()
    before = own_broker.control('list_queues', 'name', 'arguments').splitlines()

    ping(worker)

    after = own_broker.control('list_queues', 'name', 'arguments').splitlines()
    (added,) = {*after} - {*before}
    assert added.startswith('reply_')
    assert '"x-expires",60000' in added


def test_ping_with_a_host_reaches_that_worker_alone_or_fails(start):
    """An operator can address one worker, and learns whether it ever ran."""
    first = start(host='host-1')
    second = start(host='host-2', topic=first.topic)

    def ping_host(host, *more):
        return ping(first, '--server', host, '-f', 'json', *more)

    # On the topic alone, the first worker may have replied.
    wait_for(lambda: ping_host('host-2').returncode == 0)
    for _ in range(3):
        assert json.loads(ping_host('host-2').stdout)['pid'] == second.children()[0]
    never = ping_host('host-3')
    second.stop()
    gone = ping_host('host-2', '--timeout', '1')

    assert never.returncode == 2
    assert (
        f'{first.topic}.host-3: no worker with [worker] host = host-3 has served this topic of '
        'exchange placement_worker; start one, or correct the topic' in never.stderr
    )
    assert gone.returncode == 2
    assert f'No worker replied on topic {first.topic}.host-2 within 1 s' in gone.stderr


def test_second_worker_with_the_same_host_logs_a_warning(start):
    """Two workers with the same [worker] host are reported by the later one."""
    first = start(host='host-1')
    second = start(host='host-1', topic=first.topic)

    warning = f'Queue {first.topic}.host-1 already has a consumer; set a unique [worker] host'
    wait_for(lambda: second.log.exists() and warning in second.log.read_text())
    assert warning not in first.log.read_text()


def test_systemd_receives_ready_watchdog_and_stopping(start, systemd, file):
    """systemd is notified when all processes serve, while they live, and when they stop."""
    worker = start(workers=2)

    began = systemd.received_until(
        lambda words: 'READY=1' in words and words.count('WATCHDOG=1') >= 2
    )
    assert probe(file) == (0, '')
    assert worker.stop() == 0
    ended = systemd.received(0.5)

    assert began.count('READY=1') == 1
    assert ended.count('STOPPING=1') == 1
    assert not file.exists()
    assert probe(file)[0] == 1


def test_worker_without_its_broker_does_not_report_ready(own_broker, systemd, tmp_path):
    """systemd starts no dependent service before the worker serves."""
    url = re.sub(r':\d+/$', ':1/', own_broker.url)
    worker = Worker(tmp_path, url, CLOUD, environment={'NOTIFY_SOCKET': str(systemd.path)})
    wait_for(lambda: worker.log.exists() and 'No broker responded' in worker.log.read_text())

    assert systemd.received(1) == []
    worker.process.kill()
    worker.process.wait(DEADLINE_S)


def request_age_s(file):
    (process,) = json.loads(file.read_text())['processes']
    return process['request_age_s']


def test_worker_with_all_threads_busy_is_alive(start, systemd, file, tmp_path):
    """Load does not restart a worker, and requests that wait for a thread do not count as old."""
    worker = start(threads=2)
    gates = [Gate(tmp_path / name) for name in ('first', 'second')]
    with closing(worker.client(timeout_s=600)) as client, ThreadPoolExecutor(4) as callers:
        calls = [callers.submit(client.policy_check, gates[0].request()) for _ in range(2)]
        wait_for(lambda: len(gates[0].begun()) == 2)
        calls += [callers.submit(client.policy_check, gates[1].request()) for _ in range(2)]
        wait_for(lambda: (request_age_s(file) or 0) > 2 * POLL_AGE_S)
        assert probe(file) == (0, '')
        systemd.received(0.1)
        assert systemd.received_until(lambda words: 'WATCHDOG=1' in words)

        gates[0].open()
        wait_for(lambda: len(gates[1].begun()) == 2)
        wait_for(lambda: (request_age_s(file) or 0) < 2 * POLL_AGE_S)
        gates[1].open()
        answers = [call.result().action.data['status'] for call in calls]

    assert answers == ['OK'] * 4
    wait_for(lambda: request_age_s(file) is None)


def test_request_beyond_its_age_limit_makes_the_worker_not_alive(start, file, gate):
    """A request that hangs is noticed, and the worker recovers after it."""
    worker = start(engine_timeout_s=1, liveness_request_age_s=2)
    with closing(worker.client(timeout_s=600)) as client, ThreadPoolExecutor(1) as callers:
        call = callers.submit(client.policy_check, gate.request())
        wait_for(lambda: probe(file)[0] == 1)
        message = probe(file)[1]
        gate.open()
        call.result()

    assert f'process {worker.children()[0]} has had a request in flight for ' in message
    wait_for(lambda: probe(file) == (0, ''))


def test_request_that_hangs_is_named_once_in_the_log_and_in_the_report(start, gate):
    """An operator learns action, cluster and id of a request that occupies a thread."""
    worker = start(engine_timeout_s=1)
    hangs = re.compile(
        "BEFORE CLUSTER_SCALE_OUT 'hangs' of cluster 'c1': policy_check has been in flight for "
        rf'\d+ s \(request req-1, topic {worker.topic}\)'
    )
    with closing(worker.client(timeout_s=600)) as client, ThreadPoolExecutor(1) as callers:
        call = callers.submit(client.policy_check, gate.request('hangs'), {'request_id': 'req-1'})
        wait_for(lambda: hangs.search(worker.log.read_text()))
        os.kill(worker.children()[0], signal.SIGUSR2)
        wait_for(lambda: hangs.search(worker.stderr.read_text()))
        time.sleep(2 * PUBLISH_S)
        gate.open()
        call.result()

    lines = [line for line in worker.log.read_text().splitlines() if hangs.search(line)]
    assert [' WARNING ' in line for line in lines] == [True]


def test_stopped_process_makes_the_worker_not_alive_after_the_limit(start, systemd, file):
    """A process that hangs is noticed, and named with the time since its last sign of life."""
    worker = start(workers=2)
    systemd.received_until(lambda words: 'READY=1' in words)
    stopped, other = worker.children()
    with frozen(stopped):
        wait_for(lambda: probe(file)[0] == 1)
        message = probe(file)[1]
        systemd.received(0.1)
        notifications = systemd.received(POLL_AGE_S)

    age = re.search(rf'process {stopped} last polled (\d+)', message)
    assert int(age[1]) >= POLL_AGE_S
    assert f'process {other}' not in message
    assert notifications == []
    wait_for(lambda: probe(file) == (0, ''))
    assert systemd.received_until(lambda words: 'WATCHDOG=1' in words)


def test_worker_without_a_broker_connection_is_alive_and_not_ready(
    start, own_broker, systemd, file
):
    """A restart would not bring the broker back, and its return makes the worker ready."""
    worker = start(readiness_disconnected_s=2)
    wait_for(lambda: probe(file, 'readiness') == (0, ''))
    own_broker.flush()
    with own_broker.killed():
        deadline = time.monotonic() + 2 * POLL_AGE_S
        while time.monotonic() < deadline:
            assert probe(file) == (0, '')
            assert systemd.received_until(lambda words: 'WATCHDOG=1' in words)
        wait_for(lambda: probe(file, 'readiness')[0] == 1)
        status, message = probe(file, 'readiness')

    assert status == 1
    assert f'process {worker.children()[0]} has had no broker connection for ' in message
    wait_for(lambda: probe(file, 'readiness') == (0, ''))
    with closing(worker.client()) as client:
        assert client.get_capabilities().pid == worker.children()[0]


def upgrade_check(config, *more):
    done = run('placement-worker-status', '--config-file', config, 'upgrade', 'check', *more)
    return done.returncode, done


def results(done):
    return {
        check['check']: (check['result'], check['details'] or '')
        for check in json.loads(done.stdout)['checks']
    }


def of_a_new_topic(folder, url, settings=''):
    """Return the configuration of a worker that does not run, and its topic."""
    topic = f'test-{time.monotonic_ns()}'
    return configured(folder, url, CLOUD, settings, topic=topic), topic


def test_upgrade_check_beside_a_running_worker_passes(start):
    """An operator can run the check at any time."""
    worker = start()

    status, done = upgrade_check(worker.config)
    as_json = upgrade_check(worker.config, '--json')[1]

    assert (status, done.stderr) == (0, '')
    assert 'Check: Exchange and queues' in done.stdout
    assert {code for code, _ in results(as_json).values()} == {0}
    assert results(as_json)['Broker'][1].startswith('RabbitMQ ')


def test_upgrade_check_with_the_file_of_an_engine_compares_the_trustee(start, tmp_path):
    """Workers whose service user is not the trustee of an engine cannot serve it."""
    worker = start()
    with open(worker.config, 'a') as config:
        config.write('[service_auth]\nusername = senlin\n')
    engine = tmp_path / 'heat.conf'
    engine.write_text('[trustee]\nusername = heat\n')

    status, done = upgrade_check(worker.config, '--json', '--engine-file', engine)

    code, details = results(done)['Trustee']
    assert (status, code) == (2, 2)
    assert f'username is senlin, but {engine}: [trustee] username is heat' in details


def test_upgrade_check_declares_nothing_on_the_broker(own_broker, tmp_path):
    """The check leaves queues and exchanges as they are."""
    exchange = f'control_exchange = test-{time.monotonic_ns()}'
    config, topic = of_a_new_topic(tmp_path, own_broker.url, exchange)

    def declared():
        return [own_broker.control(what, 'name') for what in ('list_queues', 'list_exchanges')]

    before = declared()

    status, done = upgrade_check(config, '--json')

    details = results(done)['Exchange and queues'][1]
    assert (status, declared()) == (0, before)
    assert 'Not declared yet; a worker declares: exchange test-' in details
    assert f'queue {topic}.testhost' in details


def test_upgrade_check_names_each_classic_queue_and_the_command_that_deletes_it(
    own_broker, tmp_path
):
    """An operator knows what to do before the upgrade."""
    config, topic = of_a_new_topic(tmp_path, own_broker.url)
    with amqp(own_broker.url) as connection:
        for name in (topic, f'{topic}-slow'):
            connection.default_channel.queue_declare(name, durable=True, auto_delete=False)

    status, done = upgrade_check(config, '--json')

    code, details = results(done)['Exchange and queues']
    assert (status, code) == (2, 2)
    for name in (topic, f'{topic}-slow'):
        assert f'Queue {name} exists on the broker with other options' in details
        assert f'rabbitmqctl -p / delete_queue {name}' in details
    others = ('Configuration', 'Order of timeouts', 'Libraries', 'Broker')
    assert {results(done)[name][0] for name in others} == {0}


NO_BROKER = 'No broker responded: 127.0.0.1:1: '
REFUSED = 'The broker at 127.0.0.1:PORT refused access: '


@pytest.mark.parametrize(
    ('url', 'settings', 'check', 'words'),
    [
        (None, 'liveness_request_age_s = 600', 'Order of timeouts', '_request_age_s (600 s)'),
        (None, 'workers = 0', 'Configuration', 'Value for option [worker] workers from '),
        (None, '[cloud]\nbackend = openstack', 'Configuration', '[service_auth] auth_type is not'),
        (f'rabbit://guest:{PASSWORD}@127.0.0.1:1/', '', 'Broker', NO_BROKER),
        (f'rabbit://guest:{PASSWORD}@127.0.0.1:PORT/', '', 'Broker', REFUSED),
        ('fake://', '', 'Broker', 'The driver is fake: '),
    ],
)
def test_upgrade_check_names_what_prevents_a_start_without_the_password(
    own_broker, tmp_path, url, settings, check, words
):
    """Only the check that is concerned fails, a driver that loses requests is a warning."""
    port = str(own_broker.port)
    config, _ = of_a_new_topic(tmp_path, url.replace('PORT', port) if url else own_broker.url)
    with config.open('a') as file:
        file.write(f'{settings}\n')

    status, done = upgrade_check(config, '--json')

    checks = results(done)
    assert checks[check][0] == status == (1 if url == 'fake://' else 2)
    assert words.replace('PORT', port) in checks[check][1]
    assert [name for name, (code, _) in checks.items() if code][:1] == [check]
    assert PASSWORD not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ('content', 'words'),
    [('hello', 'Failed to parse '), (None, 'Failed to find some config files: ')],
)
def test_upgrade_check_of_an_unreadable_file_prints_one_line(tmp_path, content, words):
    """A missing or malformed file is reported without a traceback."""
    file = tmp_path / 'worker.conf'
    if content is not None:
        file.write_text(content)

    status, done = upgrade_check(file)

    assert (status, done.stdout) == (2, '')
    assert done.stderr.startswith('placement-worker-status: ')
    assert words in done.stderr
    assert done.stderr.count('\n') == 1


def test_sigusr2_prints_a_report_of_parent_and_process_without_the_password(start, own_broker):
    """The guru meditation report shows the threads and ends no process."""
    own_broker.control('add_user', 'reporter', PASSWORD)
    own_broker.control('set_permissions', 'reporter', '.*', '.*', '.*')
    worker = start(url=own_broker.url.replace('guest:guest@', f'reporter:{PASSWORD}@'))
    pids = [worker.process.pid, *worker.children()]

    for number, pid in enumerate(pids, start=1):
        os.kill(pid, signal.SIGUSR2)
        wait_for(lambda number=number: worker.stderr.read_text().count('Configuration') == number)
        wait_for(lambda pid=pid: f'Process {pid} (under' in worker.stderr.read_text())
    with closing(worker.client()) as client:
        assert client.get_capabilities().pid == pids[1]

    text = worker.stderr.read_text()
    assert 'transport_url = ***' in text
    assert 'late_ack/listener.py' in text, 'what the threads do'
    assert text.count('Requests in flight') == 1, 'the parent has none'
    for place in (text, worker.log.read_text()):
        assert PASSWORD not in place
    assert worker.stop() == 0
