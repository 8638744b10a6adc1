"""Connections of commands to running workers."""

from contextlib import nullcontext
from unittest.mock import Mock

import pytest
from amqp.exceptions import AccessRefused, NotFound
from oslo_config import cfg
from oslo_messaging import TransportURL

from placement_worker import errors
from placement_worker.cmd import remote


@pytest.fixture(autouse=True)
def own_options(monkeypatch):
    """Keep the options of each test apart."""
    monkeypatch.setattr(cfg, 'CONF', cfg.ConfigOpts())


def test_client_with_a_missing_configuration_file_names_it(tmp_path):
    """A missing configuration file is an error of the file, not of an option."""
    with pytest.raises(FileNotFoundError, match=r'none\.conf'):
        remote.client(None, str(tmp_path / 'none.conf'), None)


def test_client_with_a_malformed_configuration_file_is_refused(tmp_path):
    """A malformed configuration file is reported as such."""
    (tmp_path / 'w.conf').write_text('hello')

    with pytest.raises(errors.ConfigurationError, match='Failed to parse'):
        remote.client(None, str(tmp_path / 'w.conf'), None)


@pytest.mark.parametrize(
    ('url', 'ttl'),
    [
        ('rabbit://u%40:p%2B@[::1]:5673,h/my%20host', '60'),
        ('rabbit://h/?rabbit_transient_queues_ttl=5', '5'),
    ],
)
def test_client_has_a_short_lived_reply_queue_unless_the_url_says_otherwise(url, ttl, monkeypatch):
    """Commands that run every few seconds leave few queues behind, and the URL stays as it is."""
    monkeypatch.setattr(remote, 'PolicyClient', lambda url, **_: url)
    monkeypatch.setattr(remote, 'open_connection', lambda *_, **__: Mock())

    found = TransportURL.parse(cfg.CONF, remote.client(url, None, None))

    asked = TransportURL.parse(cfg.CONF, url)
    assert found.query['rabbit_transient_queues_ttl'] == ttl
    assert (found.hosts, found.virtual_host) == (asked.hosts, asked.virtual_host)


def test_parked_without_a_broker_reports_the_address():
    """An unreachable broker is reported with its address."""
    with (
        pytest.raises(errors.NoWorkerAnswered, match=r'127\.0\.0\.1:1'),
        remote.parked('rabbit://127.0.0.1:1/', None, 1),
    ):
        pass


def test_parked_without_the_permission_to_read_names_it(monkeypatch):
    """A user without the read permission on the parking lot gets one error that names it."""
    refused = "ACCESS_REFUSED - access to queue 'placement_worker-parked' refused for user 'u'"
    monkeypatch.setattr(remote, 'open_connection', lambda *_: nullcontext())
    monkeypatch.setattr(remote, 'load_transport_url', lambda *_: None)

    with (
        pytest.raises(errors.BrokerRefused, match='The read permission is missing on the broker'),
        remote.parked('rabbit://u:p@h/', None, 1),
    ):
        raise AccessRefused(refused)


def test_parked_without_a_parking_lot_says_to_start_a_worker(monkeypatch):
    """On a broker without the parking lot, the error names the queue and the remedy."""
    monkeypatch.setattr(remote, 'open_connection', lambda *_: nullcontext())
    monkeypatch.setattr(remote, 'load_transport_url', lambda *_: None)

    with (
        pytest.raises(
            errors.NoWorkerAnswered,
            match=r'Queue placement-worker-parked does not exist, .*, start a worker, or correct ',
        ),
        remote.parked('rabbit://u:p@h/', None, 1),
    ):
        raise NotFound('no queue')
