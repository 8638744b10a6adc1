"""The client of the engine, with a configuration of its own and a timeout for every call."""

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import eventlet
import oslo_messaging
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.contract.rpc import is_slow
from placement_worker.engines import client_setup
from placement_worker.errors import NoWorkerAnswered, PlacementWorkerError

LOG = logging.getLogger(__name__)
GRACE_S = 2
"""The time that the engine waits beyond the client's timeout, whose error has more detail."""
FAILURES = (PlacementWorkerError, oslo_messaging.MessagingException)
"""The errors that a call raises when the worker or the broker fails."""

R = TypeVar('R', CheckRequest, BindRequest)
T = TypeVar('T')


def is_configured() -> bool:
    """Return whether senlin.conf names the broker of the workers."""
    return bool(cfg.CONF.placement_worker.transport_url)


def call(method: Callable[[PolicyClient, R, Mapping[str, str]], T], request: R, context: Any) -> T:
    """Call a worker in a greenthread of its own, with the timeout of the configuration.

    The client's own timeout does not cover a broker that accepts connections and never responds.

    :param method: a method of the client.
    :param context: Senlin's context; its ids are sent.
    :raises NoWorkerAnswered: no reply arrived in time.
    :raises PlacementWorkerError: the worker refused the request, or failed.
    """
    group = cfg.CONF.placement_worker
    timeout_s = group.slow_timeout_s if is_slow(request) else group.timeout_s
    thread = eventlet.spawn(method, _client(**group), request, client_setup.ids(context))
    limit = eventlet.Timeout(timeout_s + GRACE_S)
    try:
        reply: T = thread.wait()
    except eventlet.Timeout as exc:
        if exc is not limit:
            raise
        raise NoWorkerAnswered(
            f'No worker replied within {timeout_s} s: the broker does not respond'
        ) from exc
    finally:
        limit.cancel()
    return reply


@functools.cache
def _client(transport_url: str, **settings: Any) -> PolicyClient:
    """Return the client of this process; the options have the names of its parameters."""
    return PolicyClient(transport_url, conf=client_setup.separate_configuration(), **settings)
