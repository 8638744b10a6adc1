"""The options of the plugin in senlin.conf."""

from oslo_config import cfg

from placement_worker.contract.rpc import EXCHANGE, SLOW_TOPIC, TOPIC
from placement_worker.engines.client_setup import GROUP
from placement_worker.engines.senlin import worker_client


def test_options_have_the_topics_of_the_contract_as_defaults():
    """Senlin reaches a worker as soon as its broker is set, and masks the broker's password."""
    conf = cfg.ConfigOpts()
    conf.register_opts(worker_client.OPTIONS, GROUP)
    conf([], default_config_files=[], default_config_dirs=[])
    group = conf.placement_worker

    assert (group.exchange, group.topic, group.slow_topic) == (EXCHANGE, TOPIC, SLOW_TOPIC)
    assert group.transport_url is None
    assert [option.name for option in worker_client.OPTIONS if option.secret] == ['transport_url']
    assert worker_client.list_opts() == [('placement_worker', worker_client.OPTIONS)]
