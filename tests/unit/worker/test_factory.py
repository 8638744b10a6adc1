"""The objects of a worker that the configuration describes, without a broker."""

import json
import logging
import socket
import subprocess
import sys
import tempfile
import threading
import time
from unittest.mock import MagicMock, Mock

import pytest
from prometheus_client import values

from placement_worker import errors
from placement_worker.client.transport import load_transport_url, transport_url
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import ConfigurationError
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.health.watchdog import COLUMNS, HeartbeatTable
from placement_worker.late_ack.server import LateAckServer
from placement_worker.messaging import notifications
from placement_worker.policies.registry import Registry
from placement_worker.worker import factory
from tests.config_files import default_options
from tests.factories import NOW, request


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """The options of an embedded cloud, which `cloud.yaml` in the current folder describes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'cloud.yaml').write_text('zones: {a: true}')
    conf = default_options()
    conf.set_override('backend', 'inventory', group='cloud')
    conf.set_override('inventory_file', 'cloud.yaml', group='cloud')
    conf.set_override('host', 'host-1', group='worker')
    return conf


def test_cloud_with_an_inventory_is_the_embedded_cloud(conf, tmp_path):
    """The processes share the state of load balancers, which can outlive the worker."""
    cloud = factory.create_clouds(conf)

    assert isinstance(cloud, Inventory)
    assert cloud.load_balancer.state is None
    assert factory.create_clouds(conf, '/state').load_balancer.state == '/state'
    (tmp_path / 'cloud.yaml').write_text('load_balancer: {state: kept.json}')
    assert factory.create_clouds(conf, '/state').load_balancer.state.endswith('kept.json')


INVENTORY, CORDONS = ('cloud', 'inventory_file'), ('placement', 'cordon_file')
DECISIONS = ('decision_log', 'file')
NO_CORDONS = r'No such file or directory; create it, and write \[\] for no cordons$'
NO_FOLDER = (
    'No such file or directory; create its folder and let the user of the worker write to it$'
)


@pytest.mark.parametrize(
    ('created', 'option', 'value', 'message'),
    [
        ('clouds', INVENTORY, None, '.*needs inventory_file'),
        ('clouds', INVENTORY, 'wrong.yaml', '{}: .*zones'),
        ('clouds', INVENTORY, 'gone', r'\[cloud\] .*gone.*; create it, or correct the path$'),
        ('clouds', ('cloud', 'backend'), 'openstack', '.*auth_type is not set'),
        ('cordons', CORDONS, 'gone', '{}: Cannot read the cordon file: gone: ' + NO_CORDONS),
        ('cordons', CORDONS, 'wrong.yaml', '{}: Invalid cordon file: wrong.yaml: Expected `array`'),
        ('recorder', DECISIONS, 'none/d.jsonl', 'Cannot write {}: none/d.jsonl: ' + NO_FOLDER),
        ('recorder', DECISIONS, '/', 'Cannot write {}: /: Is a directory; name a file'),
    ],
)
def test_object_that_cannot_be_created_names_the_option(
    conf, tmp_path, created, option, value, message
):
    """The error names the option that is missing or wrong, the file, the cause and the remedy."""
    group, name = option
    (tmp_path / 'wrong.yaml').write_text('zones: 7')
    conf.set_override(name, value, group=group)

    with pytest.raises(ConfigurationError, match='^' + message.format(rf'\[{group}\] {name}')):
        getattr(factory, f'create_{created}')(conf)


def test_cordons_are_those_of_the_file_if_any(conf, tmp_path):
    """The cordons are those of the file at the time of each request; by default there are none."""
    assert factory.create_cordons(conf) is None
    (tmp_path / 'cordons.yaml').write_text('- {zone: a, until: "2026-01-02T00:00:00Z"}')
    conf.set_override('cordon_file', 'cordons.yaml', group='placement')

    assert [cordon.zone for cordon in factory.create_cordons(conf).in_force(NOW)] == ['a']


def test_recorder_creates_its_file_and_records_the_host_of_the_worker(conf, tmp_path):
    """A file that cannot be written is found at the start, and each line names its worker."""
    assert factory.create_recorder(conf) is None
    conf.set_override('file', str(tmp_path / 'd.jsonl'), group='decision_log')
    recorder = factory.create_recorder(conf)
    assert (tmp_path / 'd.jsonl').exists()

    endpoints = Endpoints(Inventory(), Registry.installed(), WorkerSettings(recorder=recorder))
    endpoints.policy_check(request('CLUSTER_SCALE_OUT', []), 'req-1')

    assert json.loads((tmp_path / 'd.jsonl').read_text())['host'] == 'host-1'


def test_exporter_without_a_port_does_not_import_the_library():
    """A worker without metrics does not load prometheus_client."""
    code = (
        'import sys\n'
        'from placement_worker.worker import factory, parent_process\n'
        'from tests.config_files import default_options\n'
        'assert not factory.create_exporter(default_options(), None)\n'
        'assert "prometheus_client" not in sys.modules'
    )

    subprocess.run([sys.executable, '-W', 'ignore', '-c', code], check=True)


@pytest.fixture
def refused_export(conf, monkeypatch):
    """A function that exports metrics with a folder, on a taken port; it returns the error."""
    monkeypatch.setattr(values, 'ValueClass', values.ValueClass)
    monkeypatch.setenv('PROMETHEUS_MULTIPROC_DIR', '')

    def export(folder):
        conf.set_override('folder', folder and str(folder), group='metrics')
        with pytest.raises(ConfigurationError) as raised:
            factory.create_exporter(conf, None)
        return str(raised.value)

    with socket.create_server(('127.0.0.1', 0)) as taken:
        conf.set_override('port', taken.getsockname()[1], group='metrics')
        yield export


def test_exporter_creates_its_folder_and_deletes_the_metrics_of_an_earlier_worker(
    refused_export, tmp_path
):
    """Other files are kept; a folder that cannot be created is named with its option."""
    folder = tmp_path / 'metrics'
    refused_export(folder)
    (folder / 'counter_7.db').write_bytes(b'left by an earlier worker')
    (folder / 'notes').touch()

    refused_export(folder)

    assert [path.name for path in folder.iterdir()] == ['notes']
    assert f'Cannot use [metrics] folder: {folder}/notes/m: ' in refused_export(folder / 'notes/m')


def test_exporter_on_a_taken_port_fails_and_removes_the_temporary_folder(
    conf, refused_export, tmp_path, monkeypatch
):
    """A port that cannot be used is reported, and no temporary folder is left behind."""
    (tmp_path / 'temporary').mkdir()
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'temporary'))

    assert f'port {conf.metrics.port} cannot be used: Address already' in refused_export(None)

    assert list((tmp_path / 'temporary').iterdir()) == []


def test_watchdog_applies_each_option_to_its_limit_and_writes_the_configured_file(conf, tmp_path):
    """A worker beyond a limit is reported with the value of the option for that limit."""
    limits = {
        'liveness_file': str(tmp_path / 'liveness.json'),
        'liveness_poll_age_s': 1100,
        'liveness_request_age_s': 2200,
        'liveness_reconnect_age_s': 3300,
        'readiness_disconnected_s': 4400,
    }
    for name, value in limits.items():
        conf.set_override(name, value, group='worker')
    now = time.monotonic()
    heartbeats = HeartbeatTable([0.0] * 2 * COLUMNS, now)
    heartbeats.publish(0, [(now - 1101, now - 2201, None)], now)
    heartbeats.publish(1, [(now - 3301, None, now - 4401)], now)

    factory.create_watchdog(conf, heartbeats, {}).check()

    state = json.loads((tmp_path / 'liveness.json').read_text())
    reported = [text[text.index('(') :] for text in (*state['reasons'], *state['missing'])]
    assert reported == [f'(limit {seconds} s)' for seconds in (1100, 2200, 3300, 4400)]


@pytest.mark.parametrize(('timeout', 'interval_s'), [('4000000', 2), ('4s', 5)])
def test_watchdog_takes_the_address_of_systemd_from_the_environment(conf, timeout, interval_s):
    """Cotyledon finds no address, so it does not report readiness before the watchdog does."""
    environment = {'NOTIFY_SOCKET': '/run/systemd/notify', 'WATCHDOG_USEC': timeout}
    heartbeats = HeartbeatTable([0.0] * COLUMNS, time.monotonic())

    watchdog = factory.create_watchdog(conf, heartbeats, environment)

    assert 'NOTIFY_SOCKET' not in environment
    assert watchdog.interval_s == interval_s  # half of systemd's timeout, if it is valid


def test_queues_move_poison_messages_to_isolation_and_then_to_the_parking_lot(conf):
    """Each topic isolates its poison messages, and the isolation queue parks them."""
    conf.set_override('topic', 't', group='worker')

    fast, slow, isolation = factory.consumed_queues(conf)

    assert fast.death_limit == slow.death_limit
    assert (fast.death_limit.queue, fast.death_limit.parks) == ('t-suspects', False)
    assert (isolation.topic, isolation.threads) == ('t-suspects', 1)
    assert (isolation.death_limit.queue, isolation.death_limit.parks) == ('t-parked', True)


@pytest.mark.parametrize(('engine_timeout_s', 'expected'), [(600, [60, 600, 600]), (30, [30] * 3)])
def test_requests_of_the_slow_topic_are_long_at_the_timeout_of_the_engine(
    conf, engine_timeout_s, expected
):
    """The log names a request when its caller has given up, and not before."""
    conf.set_override('engine_timeout_s', engine_timeout_s, group='worker')

    assert [queue.long_s for queue in factory.consumed_queues(conf)] == expected


def test_queue_names_are_a_shared_and_an_own_queue_per_topic_and_the_parking_lot(conf):
    """The upgrade check and the worker agree on the queues of a worker."""
    assert factory.queue_names(conf) == [
        'placement-worker',
        'placement-worker.host-1',
        'placement-worker-slow',
        'placement-worker-slow.host-1',
        'placement-worker-suspects',
        'placement-worker-suspects.host-1',
        'placement-worker-parked',
    ]


@pytest.fixture
def broker(monkeypatch):
    """Replace the broker by lists: errors that it raises first, and queues with a consumer."""
    failures, consumed = [], []

    def declare(*_):
        if failures:
            raise failures.pop(0)
        return dict.fromkeys(consumed, 1)

    monkeypatch.setattr(factory.topology, 'declare', declare)
    monkeypatch.setattr('tenacity.nap.time.sleep', lambda _: None)
    return failures, consumed


def test_declaration_without_a_broker_logs_the_failure_and_the_wait(conf, broker, caplog):
    """A worker that starts before its broker waits and says so."""
    broker[0].append(errors.BrokerUnreachable('No broker responded: 127.0.0.1:1: refused'))

    with caplog.at_level(logging.WARNING, factory.LOG.name):
        factory.declare_queues(conf)

    assert caplog.messages == ['No broker responded: 127.0.0.1:1: refused; trying again in 1 s']


def test_declaration_with_another_error_raises_it_at_once(conf, broker):
    """Only an unreachable broker is retried."""
    broker[0].append(errors.QueueMismatch('Queue a is classic'))

    with pytest.raises(errors.QueueMismatch):
        factory.declare_queues(conf)


def test_declaration_of_a_queue_that_has_a_consumer_warns_of_the_host(conf, broker, caplog):
    """A worker whose host another worker has already is reported: both would share its queues."""
    broker[1].append('placement-worker.host-1')

    factory.declare_queues(conf)

    assert caplog.messages == [
        'Queue placement-worker.host-1 already has a consumer; set a unique [worker] host on each '
        'worker'
    ]


def test_move_of_a_request_declares_its_queue_and_binds_nothing(conf, registry, monkeypatch):
    """On a node of RabbitMQ 4.3 without a majority, a binding would close the connection."""
    load_transport_url(conf, 'rabbit://u:p@h/')
    connection = MagicMock()
    monkeypatch.setattr(factory, 'open_connection', lambda *_: connection)
    monkeypatch.setattr(factory.topology.transport, 'open_connection', lambda *_: connection)
    limit = factory.consumed_queues(conf)[0].death_limit
    message = Mock(headers={}, delivery_info={})

    factory.ServerFactory(conf, None, registry, None, None)._move(message, limit)

    entered = connection.__enter__.return_value
    channel = entered.channel.return_value
    assert [call.args for call in channel.queue_declare.call_args_list] == [(limit.queue,)]
    channel.queue_bind.assert_not_called()
    entered.Producer.return_value.__enter__.return_value.publish.assert_called_once()


def test_servers_of_a_process_are_one_per_queue_and_acknowledge_late(conf, registry):
    """The queues do not take threads from each other, and a killed worker loses no request."""
    conf.set_override('threads', 3, group='worker')
    transport_url(conf)  # registers the option
    conf.set_override('transport_url', 'fake://')
    notifications.check(conf)  # registers the options of notifications
    cloud = Inventory.parse({'zones': {'a': True}}, 'test')

    servers = factory.ServerFactory(conf, cloud, registry, None, None).create(0, threading.Event())

    created = [(one.rpc_server._target.topic, one.threads) for one in servers._servers]
    types = {type(one.rpc_server) for one in servers._servers}
    servers.stop()
    assert created == [
        ('placement-worker', 3),
        ('placement-worker-slow', 16),
        ('placement-worker-suspects', 1),
    ]
    assert types == {LateAckServer}
