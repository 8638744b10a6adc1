"""The target of a command."""

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from amqp.exceptions import AccessRefused, NotFound
from oslo_config import cfg
from oslo_messaging import TransportURL

from placement_worker import errors
from placement_worker.cmd import remote
from tests.factories import request, zone_policy

ROOT = Path(__file__).parents[3]
NOTE = 'This decision is for the shipped cloud of the examples; use --cloud FILE for another cloud'


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
    assert err == (f'placement-policy {arguments[0]}: {NOTE}\n' if noted else '')


def test_cordon_file_closes_places_of_the_embedded_cloud(run):
    """A check in this process decides with the cordons of the file, and shows them."""
    own = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')])
    cordons = [{'zone': 'a', 'until': '2999-01-01T00:00:00Z', 'reason': 'fire'}]

    arguments = ['check', 'own', '--cloud', 'cloud.yaml', '--cordon-file', 'cordons']
    status, out, _ = run(*arguments, own=own, cordons=cordons)

    assert status == 0
    assert 'zones: b 1' in out
    assert 'cordoned until 2999-01-01 (fire)' in out


@pytest.fixture(autouse=True)
def own_options(monkeypatch):
    """Keep the options of each test apart."""
    monkeypatch.setattr(cfg, 'CONF', cfg.ConfigOpts())


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
    args = Namespace(transport=url, config_file=None, server=None)

    found = TransportURL.parse(cfg.CONF, remote.client(args, None))

    asked = TransportURL.parse(cfg.CONF, url)
    assert found.query['rabbit_transient_queues_ttl'] == ttl
    assert (found.hosts, found.virtual_host) == (asked.hosts, asked.virtual_host)


@pytest.mark.parametrize(
    ('cause', 'kind', 'text'),
    [
        (AccessRefused("ACCESS_REFUSED - access to queue 'q' refused for user 'u'"),
         errors.BrokerRefused, 'The read permission is missing on the broker'),
        (NotFound('no queue'), errors.NoWorkerAnswered,
         r'Queue placement-worker-parked does not exist, .*, start a worker, or correct '),
    ],
)  # fmt: skip
def test_parked_without_permission_or_queue_names_the_remedy(monkeypatch, cause, kind, text):
    """A user without the read permission, or on a broker without the queue, gets one error."""
    monkeypatch.setattr(remote, 'open_connection', lambda *_: nullcontext())
    monkeypatch.setattr(remote, 'load_transport_url', lambda *_: None)
    args = Namespace(transport='rabbit://u:p@h/', config_file=None)

    with pytest.raises(kind, match=text), remote.parked(args, 1):
        raise cause
