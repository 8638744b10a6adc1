"""The target of a command."""

import argparse
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from amqp.exceptions import AccessRefused, NotFound
from oslo_config import cfg
from oslo_messaging import TransportURL

from placement_worker import errors
from placement_worker.cmd import argument_types, remote
from tests.factories import request, zone_policy

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize('timeout', ['0', '-1', 'soon', 'inf', 'nan'])
def test_timeout_that_is_not_a_positive_number_is_refused(run, timeout, capsys):
    """The option --timeout takes a positive number of seconds."""
    with pytest.raises(SystemExit) as ended:
        run('validate', 'f', f'--timeout={timeout}')

    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert 'argument --timeout: expected a number of seconds above 0 and less than 86400' in error
    assert f', got {timeout}; run ' in error


NOTE = (
    'This decision is for the shipped cloud of the examples; use --cloud FILE for another cloud\n'
)


@pytest.mark.parametrize(
    ('arguments', 'noted'),
    [
        (['check', 'own'], True),
        (['check', 'own', 'own', '--explain', 'full'], True),
        (['plan', 'own'], True),
        (['validate', 'spec', '--check-resources'], True),
        (['check', 'own', '--cloud', 'cloud.yaml'], False),
        (['check', 'own', '-f', 'json'], False),
        (['check', str(ROOT / 'examples' / 'scale-out.yaml')], False),
        (['check', 'scale-out.yaml'], False),  # as of a clone that the package was installed from
        (['validate', 'spec'], False),
    ],
)
def test_command_without_cloud_notes_the_shipped_cloud_once(run, arguments, noted):
    """A request of the user over the shipped cloud causes one note."""
    own = request('CLUSTER_SCALE_OUT', [zone_policy('az1', 'b')])

    Path('scale-out.yaml').write_bytes((ROOT / 'examples' / 'scale-out.yaml').read_bytes())

    status, _, err = run(*arguments, own=own, spec=zone_policy('az1')['spec'])

    assert status == (2 if arguments[0] == 'plan' else 0)
    assert err == (f'placement-policy {arguments[0]}: {NOTE}' if noted else '')


def test_cordon_file_closes_places_of_the_embedded_cloud(run):
    """A check in this process decides with the cordons of the file, and shows them."""
    own = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')])
    cordons = [{'zone': 'a', 'until': '2999-01-01T00:00:00Z', 'reason': 'fire'}]

    arguments = ['check', 'own', '--cloud', 'cloud.yaml', '--cordon-file', 'cordons']
    status, out, _ = run(*arguments, own=own, cordons=cordons)

    assert status == 0
    assert 'zones: b 1' in out
    assert 'cordoned until 2999-01-01 (fire)' in out


def test_cordon_file_that_is_invalid_is_refused_with_its_line(run):
    """The error shows the wrong line with a caret."""
    arguments = ['check', 'own', '--cloud', 'cloud.yaml', '--cordon-file', 'cordons']

    status, _, err = run(*arguments, own=request('CLUSTER_SCALE_OUT', []), cordons='- zone: a\n')

    assert status == 2
    assert err == (
        'placement-policy check: Invalid cordon file: cordons: Object missing required field '
        '`until` - at `$[0]` (line 1, column 3); correct the cordon file\n'
        '     1 | - zone: a\n'
        '       |   ^\n'
    )


def test_cordon_file_for_running_workers_is_refused(run):
    """Running workers have cordons of their own."""
    status, _, err = run('check', 'own', '--transport', 'rabbit://', '--cordon-file', 'x', own={})

    assert status == 2
    assert err.startswith(
        'placement-policy check: --cordon-file is for an embedded cloud; running workers use '
        '[placement] cordon_file'
    )


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


@pytest.mark.parametrize('text', ['abc', '', '0', '-1', 'inf', 'nan', '60'])
def test_seconds_that_are_no_number_within_the_limits_name_the_text(text):
    """A user reads which value is wrong and which values are valid."""
    with pytest.raises(argparse.ArgumentTypeError, match=f'less than 60, got {text}$'):
        argument_types.seconds(text, below=60)


def test_seconds_without_a_limit_are_any_positive_number():
    """A duration may have a fraction."""
    assert argument_types.seconds('86400.5') == 86400.5


@pytest.mark.parametrize(
    ('kind', 'least', 'text', 'number'), [(int, 1, '1', 1), (float, 0, '0.04', 0.04)]
)
def test_number_within_the_limit_is_parsed(kind, least, text, number):
    """A number that is large enough is returned."""
    assert argument_types.at_least(text, kind, least) == number


@pytest.mark.parametrize(
    ('kind', 'least', 'text', 'expected'),
    [
        (int, 1, '0', 'integer >= 1'),
        (int, 0, '1.5', 'integer >= 0'),
        (float, 0, 'inf', 'number >= 0'),
        (float, 0, 'nan', 'number >= 0'),
        (float, 0, 'x', 'number >= 0'),
    ],
)
def test_number_beyond_the_limit_names_the_text(kind, least, text, expected):
    """A user reads which value is wrong and which values are valid."""
    with pytest.raises(argparse.ArgumentTypeError, match=f'^expected {expected}, got {text}$'):
        argument_types.at_least(text, kind, least)
