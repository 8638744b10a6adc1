"""The worker on the broker: the methods of the contract, exposed on a topic."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_context.context import RequestContext
from oslo_messaging.rpc import dispatcher

from placement_worker.client.connection import control_exchange
from placement_worker.cloud.request_id import bound_request_id
from placement_worker.contract.methods import METHODS
from placement_worker.contract.topics import VERSION
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.messaging import parking
from placement_worker.messaging.parking import Diversion

LOG = logging.getLogger(__name__)


class ContextSerializer(oslo_messaging.NoOpSerializer):
    """Of the caller's context take the ids that are logged; passwords and tokens stay where they
    are.
    """

    def deserialize_context(self, context: Mapping[str, Any]) -> RequestContext:
        """Make it the current context of this thread, which is where the log finds it."""
        return RequestContext(
            request_id=_id(context.get('request_id')),
            global_request_id=_id(context.get('global_request_id')),
            user_id=_id(context.get('user_id')),
            project_id=_id(context.get('project_id')),
        )


def _id(value: object) -> str | None:
    """An id as it may stand in a log."""
    return value[:255] if isinstance(value, str) and value.isprintable() and value else None


def _exposed(name: str) -> Any:
    """Return a method for the dispatcher that calls the endpoint of this name.

    The reply to a call can only hold a `PlacementWorkerError`. Any other error is logged with its
    traceback and raised as `WorkerFailed`.
    """

    def call(self: ExposedEndpoints, context: RequestContext, request: object) -> Any:
        try:
            with bound_request_id(context.global_id):
                return getattr(self.endpoints, name)(request, context.request_id)
        except PlacementWorkerError:
            raise
        except Exception as exc:
            LOG.exception('%s failed', name)
            raise WorkerFailed(f'{name} failed in the worker: {with_notes(exc)}') from None

    call.__name__ = name
    return oslo_messaging.expose(oslo_messaging.expected_exceptions(PlacementWorkerError)(call))


class ExposedEndpoints:
    """The methods that callers may reach: those of the contract, and no others."""

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, endpoints: Endpoints) -> None:
        self.endpoints = endpoints


for _method in METHODS:
    setattr(ExposedEndpoints, _method.name, _exposed(_method.name))


def tell_parked(
    endpoints: Endpoints, message: Mapping[str, Any], context: Mapping[str, Any], exc: Exception
) -> None:
    """Tell whoever waits elsewhere for the reply to a check that it is parked; callers hear it from
    their call.
    """
    if message.get('method') == 'policy_check':
        request_id = ContextSerializer().deserialize_context(context).request_id
        endpoints.told_elsewhere(message.get('args', {}).get('request'), request_id, exc)


class AccessPolicy(dispatcher.ExplicitRPCAccessPolicy):
    """What is exposed may be called; and `oslo_rpc_server_ping`, which is there with
    `rpc_ping_enabled`.
    """

    def is_allowed(self, endpoint: object, method: str) -> bool:
        """Whether callers may reach a method of an endpoint."""
        ping = isinstance(endpoint, dispatcher.PingEndpoint) and method == 'oslo_rpc_server_ping'
        return ping or super().is_allowed(endpoint, method)


@dataclass(frozen=True, slots=True)
class Queue:
    """What one server of a worker consumes: a topic, by so many threads, and where what it cannot
    finish goes.
    """

    topic: str
    threads: int
    diversion: Diversion


def queues(conf: cfg.ConfigOpts) -> list[Queue]:
    """What each process of a worker consumes."""
    worker = conf.worker
    suspects, parked = worker.topic + parking.SUSPECTS, worker.topic + parking.PARKED
    to_suspects = Diversion(worker.max_deliveries, suspects, parks=False)
    return [
        Queue(worker.topic, worker.threads, to_suspects),
        Queue(worker.slow_topic, worker.slow_threads, to_suspects),
        Queue(suspects, 1, Diversion(parking.SUSPECT_DELIVERIES, parked, parks=True)),
    ]


def create(
    conf: cfg.ConfigOpts,
    transport: Any,
    topic: str,
    endpoints: Endpoints,
    server_cls: Callable[..., Any],
) -> Any:
    """The RPC server of a topic, not started yet."""
    return oslo_messaging.get_rpc_server(
        transport,
        oslo_messaging.Target(exchange=control_exchange(conf), topic=topic, server=conf.worker.host),
        [ExposedEndpoints(endpoints)],
        serializer=ContextSerializer(),
        access_policy=AccessPolicy,
        server_cls=server_cls,
    )
