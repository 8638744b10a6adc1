"""What a worker sends besides the reply to a call: notifications, and replies to where a cast wants them."""

import contextlib
from typing import Any, Protocol

import msgspec

from placement_worker.model import CheckReply, CheckRequest, ReplyTo


class Outbox(Protocol):
    """Where endpoints put what they send; the request id is that of the caller's context."""

    def errors_of(self, method: str, request_id: str | None) -> contextlib.AbstractContextManager[None]:
        """Tell of the exception that ends the block, if one does; it goes on."""

    def check_started(self, request: CheckRequest, request_id: str | None) -> None:
        """A check begins."""

    def check_ended(self, request: CheckRequest, reply: CheckReply, request_id: str | None) -> None:
        """A check was decided."""

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any) -> None:
        """Cast the reply, in the form of the request, to where it is wanted."""


class Silent:
    """Sends nothing: the worker inside a command."""

    def errors_of(self, method: str, request_id: str | None) -> contextlib.AbstractContextManager[None]:
        """As `Outbox.errors_of`."""
        return contextlib.nullcontext()

    def check_started(self, request: CheckRequest, request_id: str | None) -> None:
        """As `Outbox.check_started`."""

    def check_ended(self, request: CheckRequest, reply: CheckReply, request_id: str | None) -> None:
        """As `Outbox.check_ended`."""

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any) -> None:
        """As `Outbox.reply`."""


def started_payload(request: CheckRequest, request_id: str | None) -> dict[str, Any]:
    """What `policy_check.start` says: of which request, action and cluster."""
    return {
        'request_id': request_id,
        'target': request.target,
        'action': {'id': request.action.id, 'action': request.action.action},
        'cluster': {'id': request.cluster.id},
    }


def ended_payload(request: CheckRequest, reply: CheckReply, request_id: str | None) -> dict[str, Any]:
    """What `policy_check.end` says: the reply, and of which request, action and cluster."""
    answer = msgspec.to_builtins(reply)
    return {
        **answer,
        'request_id': request_id,
        'target': request.target,
        'cluster': {'id': request.cluster.id, **(answer['cluster'] or {})},
    }
