"""The metrics of a worker on a RabbitMQ broker, as Prometheus scrapes them."""

import os
import signal
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.openmetrics import parser
from prometheus_client.parser import text_string_to_metric_families

from placement_worker.errors import NoWorkerAnswered, RequestParked
from tests.broker import Broker
from tests.factories import deletion_policy, load_balancing_policy, node, request, zone_policy
from tests.functional.engine import slow
from tests.ports import free_ports
from tests.simulated_octavia import DESCRIPTION
from tests.waiting import DEADLINE_S, wait_for

CLOUD = {
    **DESCRIPTION,
    'zones': {'a': True, 'b': True},
    'servers': {'server-9': {'addresses': {'private': [{'addr': '10.0.0.9', 'version': 4}]}}},
    'load_balancer': {
        'fail': [{'call': 'create', 'status': 503}, {'call': 'update_members', 'status': 409}]
    },
}
OPENMETRICS = 'application/openmetrics-text; version=1.0.0'


def get(port, path, accept):
    with closing(HTTPConnection('127.0.0.1', port, timeout=DEADLINE_S)) as connection:
        connection.request('GET', path, headers={'Accept': accept})
        return connection.getresponse().read().decode()


class Scraped:
    def __init__(self, worker, port):
        self.worker, self.port = worker, port

    def text(self, accept='text/plain'):
        return get(self.port, '/metrics', accept)

    def samples(self):
        families = parser.text_string_to_metric_families(self.text(OPENMETRICS))
        return [sample for family in families for sample in family.samples]

    def value(self, name, **labels):
        """Return the sum of the samples with this name and these labels, or None."""
        found = [
            sample.value
            for sample in self.samples()
            if sample.name == f'placement_worker_{name}' and labels.items() <= sample.labels.items()
        ]
        return sum(found) if found else None

    def count(self, name, **labels):
        return self.value(f'{name}_duration_seconds_count', **labels)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return the folder of the metrics, with files of an earlier worker."""
    folder = tmp_path_factory.mktemp('metrics')
    (folder / 'counter_7.db').write_bytes(b'left by a worker that was killed')
    (folder / 'notes').touch()
    return folder


@pytest.fixture(scope='module')
def scraped(start_worker, folder):
    (port,) = free_ports(1)
    settings = f'[metrics]\nport = {port}\nfolder = {folder}'
    worker = start_worker(settings, cloud=CLOUD, workers=2, threads=4, max_deliveries=1)
    return Scraped(worker, port)


@pytest.fixture
def client(scraped):
    with closing(scraped.worker.client(timeout_s=120)) as client:
        yield client


def check(*policies, members=(), action='CLUSTER_SCALE_OUT', **more):
    return request(action, policies, members, inputs={'count': 2}, **more)


def test_checks_policies_and_cloud_calls_of_all_processes_are_measured(scraped, client):
    """Each check, each policy in it and each call to the cloud is in one histogram."""
    assert scraped.value('process_deaths_total') == 0, 'a series that an alert observes'
    unplaced = [node(1, physical_id='server-1')]
    growth = check(zone_policy('a', 'b'), members=unplaced)
    replies = [client.policy_check(asked) for asked in [growth] * 20 + [check(zone_policy('no'))]]
    assert [reply.action.data['status'] for reply in replies] == ['OK'] * 20 + ['ERROR']
    client.policy_check(check(deletion_policy()))

    scaled = {'phase': 'BEFORE', 'action': 'CLUSTER_SCALE_OUT'}
    zones = 'senlin.policy.zone_placement-1.0'
    called = {'service': 'compute', 'outcome': 'OK'}
    assert scraped.count('check', outcome='OK', **scaled) == 21
    assert scraped.count('check', outcome='ERROR', **scaled) == 1
    assert 0 < scraped.value('check_duration_seconds_sum', outcome='OK', **scaled) < 60
    assert scraped.count('policy', policy=zones, outcome='APPLIED') == 20
    assert scraped.count('policy', policy=zones, outcome='FAILED') == 1
    assert scraped.count('policy', outcome='SKIPPED') == 1
    assert scraped.count('cloud_call', operation='zones', **called) == 21
    assert scraped.count('cloud_call', operation='servers', **called) == 20


def test_load_balancer_updates_retries_and_conflicts_are_counted(scraped, client):
    """Updates, retries and conflict waits of an attachment are counted, and its calls measured."""
    cluster = check(members=[node(9, physical_id='server-9')])['cluster']

    assert (
        client.policy_attach({'cluster': cluster, 'policy': load_balancing_policy()}).status == 'OK'
    )

    assert scraped.value('load_balancer_updates_total') == 2
    assert scraped.value('load_balancer_retries_total') == 1
    assert scraped.value('load_balancer_conflict_wait_seconds_count') == 1
    assert scraped.value('load_balancer_conflict_wait_seconds_sum') >= 0.5
    for call in ('create_loadbalancer OK', 'create_loadbalancer 503', 'update_members 409'):
        called = dict(zip(('operation', 'outcome'), call.split(), strict=True))
        assert scraped.count('cloud_call', service='load-balancer', **called) == 1


def test_requests_in_flight_rise_and_fall(scraped, client, gate):
    """The gauge has the requests that a thread handles, and no finished one."""
    topic = scraped.worker.topic
    with ThreadPoolExecutor(3) as callers:
        calls = [callers.submit(client.policy_check, gate.request()) for _ in range(3)]
        wait_for(lambda: scraped.value('requests_in_work', topic=topic) == 3)
        assert scraped.value('requests_in_work') == 3
        gate.open()
        assert all(call.result() for call in calls)

    wait_for(lambda: scraped.value('requests_in_work') == 0)


@pytest.mark.long
def test_crashed_processes_lose_no_count_and_leave_no_request_in_flight(scraped, client):
    """Counters survive the crash of a process; its requests in flight are reset."""
    topic, before = scraped.worker.topic, scraped.count('check', outcome='OK') or 0

    with pytest.raises(RequestParked):
        client.policy_check(slow(0, signal=signal.SIGKILL))
    answered = Counter(
        client.policy_check(check(zone_policy('a'))).action.data['status'] for _ in range(20)
    )

    assert answered == {'OK': 20}
    assert scraped.count('check', outcome='OK') == before + 20
    wait_for(lambda: scraped.value('requests_in_work') == 0)
    assert scraped.value('requests_redelivered_total', topic=topic) >= 1
    assert scraped.value('requests_put_aside_total', to='suspects') >= 1
    assert scraped.value('requests_put_aside_total', to='parked') >= 1
    assert scraped.value('process_deaths_total') >= 2


@pytest.mark.long
def test_folder_after_crashes_has_one_set_of_files_per_running_process(scraped, folder):
    """Crashes, such as those of the test before, add no files, and other files stay."""
    kinds = 'counter', 'histogram', 'gauge_livesum'
    expected = {f'{kind}_{number}.db' for kind in kinds for number in (0, 1)}

    wait_for(lambda: {path.name for path in folder.glob('*.db')} == expected)
    assert (folder / 'notes').exists()


def test_port_is_open_in_the_parent_only(scraped):
    """The processes that serve requests do not hold the socket of the metrics."""

    def sockets(pid):
        return {os.readlink(file) for file in Path(f'/proc/{pid}/fd').iterdir()}

    rows = [line.split() for line in Path('/proc/net/tcp').read_text().splitlines()]
    address = f'0100007F:{scraped.port:04X}'
    (inode,) = [row[9] for row in rows if row[1] == address and row[3] == '0A']

    assert f'socket:[{inode}]' in sockets(scraped.worker.process.pid)
    assert [pid for pid in scraped.worker.children() if f'socket:[{inode}]' in sockets(pid)] == []


def test_worker_that_stops_removes_its_temporary_folder_and_closes_the_port(start_worker, tmp_path):
    """A graceful stop leaves neither the temporary folder nor an open port."""
    (port,) = free_ports(1)
    worker = start_worker(f'[metrics]\nport = {port}', environment={'TMPDIR': str(tmp_path)})
    wait_for(lambda: len(list(tmp_path.glob('placement-worker-metrics-*/*.db'))) == 3)

    assert worker.stop() == 0

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', port))


@pytest.fixture(scope='module')
def watched_broker():
    """Return the URL of a RabbitMQ broker and the port of its metrics."""
    (port,) = free_ports(1)
    with closing(Broker()) as broker:
        (broker.folder / 'plugins').write_text('[rabbitmq_prometheus].')
        broker.configure(f'prometheus.tcp.ip = 127.0.0.1\nprometheus.tcp.port = {port}\n')
        yield broker.start(), port


def rabbitmq_samples(port, path):
    families = text_string_to_metric_families(get(port, path, 'text/plain'))
    return [sample for family in families for sample in family.samples]


@pytest.mark.long
def test_queue_metrics_of_rabbitmq_have_the_names_that_the_alert_rules_use(
    start_worker, watched_broker
):
    """RabbitMQ exports messages and consumers per queue, also for queues without consumers."""
    broker, port = watched_broker
    worker = start_worker(url=broker.url)

    def queue_values(what):
        asked = '/metrics/detailed?family=queue_coarse_metrics&family=queue_consumer_count'
        return {
            one.labels['queue']: one.value
            for one in rabbitmq_samples(port, asked)
            if one.name == f'rabbitmq_detailed_queue_{what}' and one.labels['vhost'] == '/'
        }

    wait_for(lambda: queue_values('consumers').get(worker.topic) == 1)
    wait_for(lambda: queue_values('consumers').get(f'{worker.topic}-parked') == 0)
    worker.stop()
    with closing(worker.client()) as client:
        client.cast_check(check(zone_policy('a')))

    wait_for(
        lambda: (
            [queue_values(name).get(worker.topic) for name in ('messages_ready', 'consumers')]
            == [1, 0]
        )
    )


@pytest.mark.long
def test_call_that_no_worker_takes_in_time_is_removed_and_counted_by_the_broker(
    start_worker, watched_broker
):
    """A call leaves the queue at its timeout, and a cast stays; only the broker counts the call."""
    broker, port = watched_broker
    worker = start_worker(url=broker.url)
    worker.stop()

    def expired():
        return sum(
            one.value
            for one in rabbitmq_samples(port, '/metrics')
            if one.name == 'rabbitmq_global_messages_dead_lettered_expired_total'
            and one.labels['queue_type'] == 'rabbit_quorum_queue'
        )

    before = expired()
    with closing(worker.client(timeout_s=2)) as client, pytest.raises(NoWorkerAnswered):
        client.policy_check(check(zone_policy('a')))
    with closing(worker.client()) as client:
        client.cast_check(check(zone_policy('a')))

    queues = ('list_queues', 'name', 'messages')
    wait_for(lambda: f'{worker.topic}\t1' in broker.control(*queues).splitlines())
    wait_for(lambda: expired() == before + 1)
