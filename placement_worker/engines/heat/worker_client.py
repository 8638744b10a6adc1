"""The client of heat-engine, with a configuration of its own."""

import functools
from collections.abc import Callable
from typing import TypeVar

from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.engines import client_setup
from placement_worker.errors import ConfigurationError

T = TypeVar('T')


def call(function: Callable[[PolicyClient], T], timeout_s: int) -> T:
    """Call a worker.

    :raises ConfigurationError: heat.conf names no broker.
    :raises NoWorkerAnswered: no reply arrived in time.
    :raises PlacementWorkerError: the worker refused the request, or failed.
    """
    group = cfg.CONF.placement_worker
    if not group.transport_url:
        raise ConfigurationError('[placement_worker] transport_url is not set in heat.conf')
    return function(_client(group.transport_url, group.exchange, group.topic, timeout_s))


@functools.cache
def _client(transport_url: str, exchange: str, topic: str, timeout_s: int) -> PolicyClient:
    """Return the client of this process for a timeout."""
    return PolicyClient(
        transport_url,
        conf=client_setup.separate_configuration(),
        exchange=exchange,
        topic=topic,
        timeout_s=timeout_s,
    )
