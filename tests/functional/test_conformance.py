"""Every case of the conformance tables, over RabbitMQ: client, queue, server and back."""

import msgspec
import oslo_messaging
import pytest
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.client.transport import connect, control_exchange, transport_url
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.config import options
from placement_worker.handlers.service import Endpoints
from placement_worker.late_ack.server import LateAckServer
from placement_worker.messaging import rpc_server
from tests.conformance.conformance import CASES, compared
from tests.factories import changed

TOPIC = 'test-conformance'


class CloudOfTheProject:
    def acting_for(self, credentials, project):
        return Inventory.parse(
            next(case['cloud'] for case in CASES if case['id'] == project), project
        )


@pytest.fixture(scope='module')
def client(broker_url, registry):
    conf = cfg.CONF
    options.register(conf)
    options.set_defaults()
    conf([], default_config_files=[])
    connection = connect(conf, transport_url(conf, broker_url))
    target = oslo_messaging.Target(exchange=control_exchange(conf), topic=TOPIC, server='host-1')
    worker = rpc_server.create(
        connection, target, Endpoints(CloudOfTheProject(), registry), LateAckServer
    )
    worker.start()
    client = PolicyClient(broker_url, topic=TOPIC, exchange=control_exchange(conf), timeout_s=20)
    yield client
    client.close()
    worker.stop()
    worker.wait()
    connection.cleanup()
    conf.clear()


@pytest.mark.parametrize('case', CASES, ids=lambda case: case['id'])
def test_worker_decides_each_case_as_expected(case, client):
    """A running worker decides each case as expected."""
    asked = changed(case['request'], lambda r: r['cluster'].update(project=case['id']))

    reply = msgspec.to_builtins(client.policy_check(asked))

    assert compared(reply, case['expect']) == case['expect']
