"""The options of the plugin in senlin.conf."""

import pytest
from oslo_config import cfg

from placement_worker.contract.rpc import EXCHANGE, SLOW_TOPIC, TOPIC
from placement_worker.engines.client_setup import GROUP
from placement_worker.engines.senlin import worker_client


@pytest.fixture
def conf():
    """A configuration apart from that of Senlin."""
    conf = cfg.ConfigOpts()
    conf.register_opts(worker_client.OPTIONS, GROUP)
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


def test_register_gives_the_topics_of_the_contract_as_defaults(conf):
    """Senlin reaches a worker with default options, as soon as its broker is set."""
    group = conf.placement_worker

    assert (group.exchange, group.topic, group.slow_topic) == (EXCHANGE, TOPIC, SLOW_TOPIC)
    assert group.transport_url is None


def test_transport_url_is_secret():
    """The password of the broker is masked where Senlin logs its options."""
    secrets = [option.name for option in worker_client.OPTIONS if option.secret]

    assert secrets == ['transport_url']


def test_list_opts_has_each_option():
    """The sample configuration shows every option that is registered."""
    assert worker_client.list_opts() == [('placement_worker', worker_client.OPTIONS)]
