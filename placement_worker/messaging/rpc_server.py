"""The RPC server of a topic, with the methods of the contract."""

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any

import oslo_messaging
from oslo_context.context import RequestContext
from oslo_messaging.rpc import dispatcher
from typing_extensions import override

from placement_worker import errors
from placement_worker.cloud.ports import bound_request_id
from placement_worker.contract.caller import SENT_CONTEXT
from placement_worker.contract.rpc import METHODS, VERSION
from placement_worker.events.types import Listener, MessageHandled
from placement_worker.handlers import request_log
from placement_worker.handlers.service import Endpoints
from placement_worker.late_ack.listener import limit_bodies
from placement_worker.late_ack.poison import PoisonMessages
from placement_worker.late_ack.server import LateAckServer
from placement_worker.messaging.reply_sender import ReplySender

LOG = logging.getLogger(__name__)
# The bytes that one quotation mark of a request may take: message and envelope both escape it.
ENVELOPE_FACTOR = 4
HEADER_BYTES = 64 * 2**10  # the size of the rest of a message: method, ids and the caller's context


class ContextSerializer(oslo_messaging.NoOpSerializer):
    """Take the ids of the caller's context for the log, and no passwords or tokens."""

    @override
    def deserialize_context(self, context: Mapping[str, Any]) -> RequestContext:
        ids: dict[str, Any] = {name: _id(context.get(name)) for name in SENT_CONTEXT}
        # oslo.log finds the context of a thread here: creating it makes it the current one.
        return RequestContext(**ids)


def _id(value: object) -> str | None:
    return value[:255] if isinstance(value, str) and value.isprintable() and value else None


def _exposed(name: str) -> Any:
    # The reply to a call can only hold a `PlacementWorkerError`.
    def call(self: ExposedEndpoints, context: RequestContext, request: object) -> Any:
        try:
            with bound_request_id(context.global_id):
                return getattr(self.endpoints, name)(request, context.request_id)
        except errors.PlacementWorkerError:
            raise
        except Exception as exc:
            LOG.exception('%s%s failed', self.endpoints.subject(request), name)
            raise errors.WorkerFailed(
                f'{name} failed in the worker: {errors.with_notes(exc)}'
            ) from None

    call.__name__ = name
    return oslo_messaging.expose(
        oslo_messaging.expected_exceptions(errors.PlacementWorkerError)(call)
    )


class ExposedEndpoints:
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
    transport: Any, target: Any, endpoints: Endpoints, server_cls: Callable[..., Any]
) -> Any:
    methods = Dispatcher([ExposedEndpoints(endpoints)], ContextSerializer(), AccessPolicy)
    return server_cls(transport, target, methods, None)


def late_ack_server(
    events: Listener, replies: ReplySender, poison: PoisonMessages
) -> Callable[..., LateAckServer]:
    return functools.partial(
        LateAckServer,
        send_reply=replies.send,
        on_event=lambda state, topic: events.handle(MessageHandled(state, topic)),
        describe=describe,
        poison=poison,
    )


def parked_error(parking_lot: str) -> errors.RequestParked:
    return errors.RequestParked(
        f'The request was in flight when processes died, and is parked in {parking_lot}; '
        'run placement-policy parked list --config-file FILE'
    )


def describe(message: Mapping[str, Any]) -> str:
    arguments = message.get('args')
    request = arguments.get('request') if isinstance(arguments, dict) else None
    return request_log.subject_of(request)


def limit_requests(max_request_bytes: Callable[[], int]) -> None:
    """Refuse messages with a larger request, in the whole process, by the limit in force."""
    limit_bodies(lambda: ENVELOPE_FACTOR * max_request_bytes() + HEADER_BYTES)
