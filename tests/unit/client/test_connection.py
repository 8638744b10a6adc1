"""The address of the broker, and the connections of our own beside those of oslo.messaging."""

import pytest
from oslo_config import cfg

from placement_worker import config
from placement_worker.client import connection
from placement_worker.errors import BrokerUnreachable, ConfigurationError


@pytest.fixture
def conf():
    conf = cfg.ConfigOpts()
    config.register(conf)
    conf([], default_config_files=[])
    return conf


@pytest.mark.parametrize(
    ('query', 'told'),
    [
        ('rabbit_quorum_queue=maybe', "Unexpected boolean value 'maybe'"),
        ('rabbit_qos_prefetch_count=many', "invalid literal for int() with base 10: 'many'"),
        ('colour=red', 'no such option colour in group [oslo_messaging_rabbit]'),
    ],
)
def test_an_option_in_the_transport_url_that_does_not_fit_is_a_fault_of_the_configuration(
    query, told, conf
):
    with pytest.raises(ConfigurationError) as raised:
        connection.located(conf, f'rabbit://u:secret@127.0.0.1:1/?{query}')

    assert str(raised.value) == f'The transport URL cannot be used: {told}'


@pytest.mark.parametrize(
    ('query', 'method'), [('', 'AMQPLAIN'), ('?rabbit_login_method=EXTERNAL', 'EXTERNAL')]
)
def test_connections_of_our_own_log_in_as_the_drivers_do(query, method, conf, monkeypatch):
    methods = []

    class Connection(connection.Connection):
        def ensure_connection(self, **_):
            methods.append(self.login_method)
            raise ConnectionRefusedError

    monkeypatch.setattr(connection, 'Connection', Connection)

    with pytest.raises(BrokerUnreachable):
        connection.probe(conf, connection.located(conf, f'rabbit://u:p@127.0.0.1:1/{query}'))

    assert methods == [method]
