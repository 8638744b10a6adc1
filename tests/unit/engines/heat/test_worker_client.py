"""The calls of heat-engine: their client, and their errors."""

import pytest
from oslo_config import cfg

from placement_worker.engines.heat import options, worker_client
from placement_worker.errors import ConfigurationError, Rejected


@pytest.fixture
def configured(monkeypatch):
    """heat.conf with a broker that no test connects to."""
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([], default_config_files=[])
    conf.set_override('transport_url', 'rabbit://', 'placement_worker')
    monkeypatch.setattr(cfg, 'CONF', conf)
    yield
    worker_client._client.cache_clear()


def test_call_returns_the_result(configured):
    """A call returns what the function returns, and clients of one timeout are the same."""
    first = worker_client.call(lambda client: client, 5)

    assert worker_client.call(lambda client: client, 5) is first


def test_error_of_the_call_is_raised(configured):
    """An error of the worker reaches the caller as it is."""

    def fail(client):
        raise Rejected('No availability zone found available.')

    with pytest.raises(Rejected, match='No availability zone'):
        worker_client.call(fail, 5)


def test_call_without_broker_names_the_option(configured):
    """A heat.conf without a broker gets an error that names the option."""
    cfg.CONF.clear_override('transport_url', 'placement_worker')

    with pytest.raises(ConfigurationError, match=r'\[placement_worker\] transport_url'):
        worker_client.call(lambda client: client, 5)
