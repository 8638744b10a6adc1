"""The RPC server of a topic, with the methods of the contract."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import oslo_messaging
from oslo_config import cfg
from oslo_context.context import RequestContext, get_current
from oslo_messaging.rpc import dispatcher
from typing_extensions import override

from placement_worker.client.transport import control_exchange
from placement_worker.cloud.request_id import bound_request_id
from placement_worker.contract.rpc import METHODS, VERSION
from placement_worker.errors import PlacementWorkerError, WorkerFailed, with_notes
from placement_worker.handlers.endpoints import Endpoints

LOG = logging.getLogger(__name__)
IDS = ('request_id', 'global_request_id', 'user_id', 'project_id')
"""The ids of a caller's context that the log shows."""


class ContextSerializer(oslo_messaging.NoOpSerializer):
    """Take the ids of the caller's context for the log, and no passwords or tokens."""

    @override
    def deserialize_context(self, context: Mapping[str, Any]) -> RequestContext:
        ids = {name: _id(context.get(name)) for name in IDS}
        current = get_current()
        # It is deserialized twice per request.
        if current and ids['request_id'] and all(getattr(current, key) == ids[key] for key in IDS):
            return current
        # oslo.log finds the context of a thread here: creating it makes it the current one.
        return RequestContext(
            request_id=ids['request_id'],
            global_request_id=ids['global_request_id'],
            user_id=ids['user_id'],
            project_id=ids['project_id'],
        )


def _id(value: object) -> str | None:
    """Return an id if it is safe to log, else None."""
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
            LOG.exception('%s%s failed', self.endpoints.subject(request), name)
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


def report_parked(
    endpoints: Endpoints, message: Mapping[str, Any], context: Mapping[str, Any], exc: Exception
) -> None:
    """Report a parked check to its `reply_to`; the caller of a call gets the error as the reply."""
    if message.get('method') == 'policy_check':
        request_id = ContextSerializer().deserialize_context(context).request_id
        endpoints.deliver_error(message.get('args', {}).get('request'), request_id, exc)


class AccessPolicy(dispatcher.ExplicitRPCAccessPolicy):
    """Allow the exposed methods, and the `oslo_rpc_server_ping` of `rpc_ping_enabled`."""

    @override
    def is_allowed(self, endpoint: object, method: str) -> bool:
        ping = isinstance(endpoint, dispatcher.PingEndpoint) and method == 'oslo_rpc_server_ping'
        return ping or super().is_allowed(endpoint, method)


class Dispatcher(dispatcher.RPCDispatcher):
    """Add the version of this worker to the refusal of a version, for callers without a client."""

    @override
    def dispatch(self, incoming: Any) -> Any:
        try:
            return super().dispatch(incoming)
        except oslo_messaging.UnsupportedVersion as exc:
            exc.args = (f'{exc}; this worker has contract {VERSION}',)
            raise


def create(
    conf: cfg.ConfigOpts,
    transport: Any,
    topic: str,
    endpoints: Endpoints,
    server_cls: Callable[..., Any],
) -> Any:
    """Return the RPC server of a topic, before it is started."""
    target = oslo_messaging.Target(
        exchange=control_exchange(conf), topic=topic, server=conf.worker.host
    )
    methods = Dispatcher([ExposedEndpoints(endpoints)], ContextSerializer(), AccessPolicy)
    return server_cls(transport, target, methods, None)
