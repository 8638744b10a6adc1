"""The worker on the broker: the methods of the contract, exposed on a topic."""

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_context.context import RequestContext
from oslo_messaging.rpc import dispatcher

from placement_worker.client.connection import exchange
from placement_worker.cloud import request_id as correlation
from placement_worker.contract.topics import VERSION
from placement_worker.errors import PlacementWorkerError, WorkerFailed, fault
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


def _exposed(method: Callable[..., Any]) -> Any:
    """Let callers reach a method; what it raises is always of a kind that a reply can hold.

    Our own errors need no traceback in the log. Any other is a fault: the log has it, the caller
    hears of it.
    """

    @oslo_messaging.expose
    @oslo_messaging.expected_exceptions(PlacementWorkerError)
    @functools.wraps(method)
    def call(self: Any, context: RequestContext, request: object) -> Any:
        try:
            with correlation.under(context.global_id):
                return method(self, context, request)
        except PlacementWorkerError:
            raise
        except Exception as exc:
            LOG.exception('%s failed', method.__name__)
            raise WorkerFailed(f'{method.__name__} failed in the worker: {fault(exc)}') from None

    return call


class ExposedEndpoints:
    """What the dispatcher sees of the endpoints: these methods and no others."""

    target = oslo_messaging.Target(version=VERSION)

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    @_exposed
    def policy_check(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.policy_check`."""
        return self._endpoints.policy_check(request, context.request_id)

    @_exposed
    def policy_attach(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.policy_attach`."""
        return self._endpoints.policy_attach(request, context.request_id)

    @_exposed
    def policy_detach(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.policy_detach`."""
        return self._endpoints.policy_detach(request, context.request_id)

    @_exposed
    def policy_validate(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.policy_validate`."""
        return self._endpoints.policy_validate(request)

    @_exposed
    def policy_type_list(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.policy_type_list`."""
        return self._endpoints.policy_type_list(request)

    @_exposed
    def policy_type_get(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.policy_type_get`."""
        return self._endpoints.policy_type_get(request)

    @_exposed
    def get_capabilities(self, context: RequestContext, request: object) -> Any:
        """As `Endpoints.get_capabilities`."""
        return self._endpoints.get_capabilities(request)


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
        oslo_messaging.Target(exchange=exchange(conf), topic=topic, server=conf.worker.host),
        [ExposedEndpoints(endpoints)],
        serializer=ContextSerializer(),
        access_policy=AccessPolicy,
        server_cls=server_cls,
    )
