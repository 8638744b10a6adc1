"""The events of a worker. Durations are in seconds.

`messaging` reports what happens to a message (`MessageHandled`), whatever the message contains. The
packages below it report what happens to the request that the message carries, and know no message.
A message that holds no valid request therefore has no `RequestStarted`.
"""

import logging
from typing import Literal, Protocol

from msgspec import Struct
from typing_extensions import override

from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    RebalanceReply,
    RebalanceRequest,
)

LOG = logging.getLogger(__name__)


class Event(Struct, frozen=True):
    """Something that a listener may count, measure or report."""


class RequestStarted(Event, frozen=True):
    """A request was decoded and validated; the decision, the attachment or detachment begins."""

    method: str  # of the contract
    request: CheckRequest | BindRequest
    request_id: str | None


class PolicyConsulted(Event, frozen=True):
    """A check consulted a policy; its type includes the version."""

    policy_type: str
    outcome: str
    elapsed_s: float


class CheckEnded(Event, frozen=True):
    request: CheckRequest
    reply: CheckReply
    elapsed_s: float
    request_id: str | None


class CordonUnknown(Event, frozen=True):
    """A check found a cordon of a place that the cloud does not know; `text` is for operators."""

    cordon: str
    text: str


class BindingEnded(Event, frozen=True):
    """The request to attach or detach a policy has a reply.

    :ivar policy_name: the name of the policy type.
    :ivar policy_type: its name and version, if that is installed, else its name.
    """

    method: str
    request: BindRequest
    reply: BindReply
    policy_name: str
    policy_type: str
    elapsed_s: float
    request_id: str | None


class RebalancePlanned(Event, frozen=True):
    """A request for a rebalance has a reply; nothing was changed."""

    request: RebalanceRequest
    reply: RebalanceReply
    elapsed_s: float


class RequestFailed(Event, frozen=True):
    """A request of any method ends with an error, not with a reply.

    :ivar subject: the action and the cluster as the beginning of a line; empty if unknown.
    """

    method: str
    error: Exception
    request_id: str | None
    subject: str = ''


class CloudCalled(Event, frozen=True):
    """A call to the cloud returned.

    :ivar service: for example compute.
    :ivar outcome: OK, the HTTP status, `none` for an error of the cloud without a status, or the
        class of another error.
    """

    service: str
    operation: str
    outcome: str
    elapsed_s: float


class LoadBalancerUpdated(Event, frozen=True):
    """Octavia accepted a change of a load balancer."""


class LoadBalancerRetried(Event, frozen=True):
    """An operation on a load balancer is about to be retried."""


class LoadBalancerConflicted(Event, frozen=True):
    """A load balancer refused a change because another was pending, for `waited_s`."""

    waited_s: float


class MessageHandled(Event, frozen=True):
    """A message of a topic has reached a state.

    :ivar state: TAKEN by a thread: its request, not decoded yet, is in flight. SETTLED soon: its
        request is no longer in flight. REDELIVERED by the broker. ISOLATED or PARKED: its request,
        which was in flight when processes died, has moved to another queue.
    """

    state: Literal['TAKEN', 'SETTLED', 'REDELIVERED', 'ISOLATED', 'PARKED']
    topic: str


class NotificationDropped(Event, frozen=True):
    """A notification was dropped, because the queue of notifications is full."""


class Listener(Protocol):
    def handle(self, event: Event) -> None:
        """Handle an event, or ignore it; the call blocks the thread of the request."""


class Listeners(Listener):
    """Listeners in their order; falsy if there are none.

    An exception of one listener is logged and affects neither the request nor other listeners.
    """

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def __bool__(self) -> bool:
        return bool(self._listeners)

    @override
    def handle(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener.handle(event)
            except Exception:
                LOG.exception(
                    'Listener %s failed to handle the event %s',
                    type(listener).__name__,
                    type(event).__name__,
                )


NO_LISTENERS = Listeners()
