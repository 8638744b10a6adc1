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
from placement_worker.errors import NoWorkerAnswered, PlacementWorkerError

LOG = logging.getLogger(__name__)
GRACE_S = 2
"""The time that the engine waits beyond the client's timeout, whose error has more detail."""
OBSERVED = ('oslo_messaging_metrics', 'oslo_messaging_tracing')
"""Groups that oslo.messaging registers in the configuration of the process alone.

It reads them in the configuration of every transport.
"""
KINDS: dict[type, Any] = {bool: cfg.BoolOpt, int: cfg.IntOpt}
"""The types of their options by the type of the value; all others are strings."""
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
    thread = eventlet.spawn(method, _client(**group), request, _ids(context))
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


def _ids(context: Any) -> Mapping[str, str]:
    """Return the ids of Senlin's context, which also holds passwords and trusts."""
    if context is None:
        return {}
    ids = {name: getattr(context, name, None) for name in ('request_id', 'user_id', 'project_id')}
    return {name: value for name, value in ids.items() if value}


@functools.cache
def _client(transport_url: str, **settings: Any) -> PolicyClient:
    """Return the client of this process; the options have the names of its parameters."""
    return PolicyClient(transport_url, conf=_separate_configuration(), **settings)


def _separate_configuration() -> cfg.ConfigOpts:
    """Return a configuration apart from Senlin's, so that their queues keep their own options.

    The options that measure and trace messages are those of Senlin.
    """
    conf = cfg.ConfigOpts()
    for group in OBSERVED:
        values = cfg.CONF.get(group, {})
        conf.register_opts(
            [
                KINDS.get(type(value), cfg.StrOpt)(name, default=value)
                for name, value in values.items()
            ],
            group,
        )
    conf([], project='placement_worker', default_config_files=[], default_config_dirs=[])
    return conf
