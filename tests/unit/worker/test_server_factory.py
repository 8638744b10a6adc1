"""The servers of a process on the in-memory broker of oslo.messaging."""

import threading

import pytest

from placement_worker.client.transport import transport_url
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.late_ack import LateAckServer
from placement_worker.messaging import notifications
from placement_worker.worker.server_factory import ServerFactory
from tests.config_files import default_options


@pytest.fixture
def conf():
    conf = default_options()
    conf.set_override('threads', 3, group='worker')
    transport_url(conf)  # registers the option
    conf.set_override('transport_url', 'fake://')
    notifications.check(conf)  # registers the options of notifications
    return conf


@pytest.fixture
def servers(conf, registry):
    """The servers of a process that is not started."""
    cloud = Inventory.parse({'zones': {'a': True}}, 'test')
    factory = ServerFactory(conf, cloud, registry, None, None)
    servers = factory.create(0, threading.Event())
    yield servers
    servers.stop()


def test_create_returns_a_server_per_queue_with_its_threads(servers):
    """The topic, the slow topic and the isolation queue do not take threads from each other."""
    assert [(one.rpc_server._target.topic, one.threads) for one in servers._servers] == [
        ('placement-worker', 3),
        ('placement-worker-slow', 16),
        ('placement-worker-suspects', 1),
    ]


def test_create_returns_servers_that_acknowledge_late(servers):
    """A worker that is killed loses no request."""
    assert {type(one.rpc_server) for one in servers._servers} == {LateAckServer}
