"""The client of the engine, with a configuration of its own."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import oslo_messaging
from oslo_config import cfg

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.engines import client_setup
from placement_worker.errors import PlacementWorkerError

FAILURES = (PlacementWorkerError, oslo_messaging.MessagingException)
"""The errors that a call raises when the worker or the broker fails."""

R = TypeVar('R', CheckRequest, BindRequest)
T = TypeVar('T')


def is_configured() -> bool:
    """Return whether senlin.conf names the broker of the workers."""
    return bool(cfg.CONF.placement_worker.transport_url)


def call(method: Callable[[PolicyClient, R, Mapping[str, str]], T], request: R, context: Any) -> T:
    """Call a worker with the timeouts of the configuration.

    :param method: a method of the client.
    :param context: Senlin's context; its ids are sent.
    :raises NoWorkerAnswered: no reply arrived in time.
    :raises PlacementWorkerError: the worker refused the request, or failed.
    """
    client = _client(**cfg.CONF.placement_worker)
    return method(client, request, client_setup.ids(context))


@functools.cache
def _client(transport_url: str, **settings: Any) -> PolicyClient:
    """Return the client of this process; the options have the names of its parameters."""
    return PolicyClient(transport_url, conf=client_setup.separate_configuration(), **settings)
