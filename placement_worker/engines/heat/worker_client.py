"""The client of heat-engine, with a configuration of its own and a timeout for every call."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.engines import client_setup
from placement_worker.errors import ConfigurationError, NoWorkerAnswered

GRACE_S = 2
"""The time that the engine waits beyond the client's timeout, whose error has more detail."""

T = TypeVar('T')


def call(function: Callable[[PolicyClient], T], timeout_s: int) -> T:
    """Call a worker in a thread of its own.

    The client's own timeout does not cover a broker that accepts connections and never responds.
    The thread then ends with the connection.

    :raises ConfigurationError: heat.conf names no broker.
    :raises NoWorkerAnswered: no reply arrived in time.
    :raises PlacementWorkerError: the worker refused the request, or failed.
    """
    group = cfg.CONF.placement_worker
    if not group.transport_url:
        raise ConfigurationError('[placement_worker] transport_url is not set in heat.conf')
    client = functools.partial(_client, group.transport_url, group.exchange, group.topic, timeout_s)
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function(client()))
        except BaseException as exc:
            future.set_exception(exc)

    threading.Thread(target=run, name='placement-worker', daemon=True).start()
    try:
        return future.result(timeout_s + GRACE_S)
    except TimeoutError as exc:
        if future.done():
            raise
        raise NoWorkerAnswered(
            f'No worker replied within {timeout_s} s: the broker does not respond'
        ) from exc


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
