"""The options of heat.conf, and the calls of heat-engine with their errors."""

import pytest
from oslo_config import cfg

from placement_worker.engines import client_setup
from placement_worker.engines.heat import worker_client
from placement_worker.errors import ConfigurationError


def registered():
    conf = cfg.ConfigOpts()
    conf.register_opts(worker_client.OPTIONS, client_setup.GROUP)
    conf([], default_config_files=[])
    return conf


@pytest.fixture
def configured(monkeypatch):
    """heat.conf with a broker that no test connects to."""
    conf = registered()
    conf.set_override('transport_url', 'rabbit://', 'placement_worker')
    monkeypatch.setattr(cfg, 'CONF', conf)
    yield
    client_setup.create_client.cache_clear()


def test_call_returns_the_result(configured):
    """A call returns what the function returns, and clients of one timeout are the same."""
    first = worker_client.call(lambda client: client, 5)

    assert worker_client.call(lambda client: client, 5) is first


def test_call_without_broker_names_the_option(configured):
    """A heat.conf without a broker gets an error that names the option."""
    cfg.CONF.clear_override('transport_url', 'placement_worker')

    with pytest.raises(ConfigurationError, match=r'\[placement_worker\] transport_url'):
        worker_client.call(lambda client: client, 5)


def test_options_are_listed_for_the_sample_and_have_sound_defaults():
    """A validation ends before the API of Heat gives up, and no timeout is zero."""
    conf = registered()

    assert worker_client.list_opts() == [('placement_worker', worker_client.OPTIONS)]
    assert conf.placement_worker.transport_url is None
    assert conf.placement_worker.validate_timeout_s < conf.placement_worker.timeout_s
    for name in ('timeout_s', 'validate_timeout_s'):
        with pytest.raises(ValueError, match='greater than or equal to 1'):
            conf.set_override(name, 0, 'placement_worker')
