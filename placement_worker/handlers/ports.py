"""What a worker sends besides the reply to a call: notifications, and replies to where a cast wants
them.
"""

import contextlib
from typing import Any, Protocol

import msgspec

from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    ReplyTo,
)

Request = CheckRequest | BindRequest
Reply = CheckReply | BindReply


class Outbox(Protocol):
    """Where endpoints put what they send; the request id is that of the caller's context."""

    def errors_of(
        self, method: str, request_id: str | None
    ) -> contextlib.AbstractContextManager[None]:
        """Tell of the exception that ends the block, if one does; it goes on."""

    def started(self, method: str, request: Request, request_id: str | None) -> None:
        """A method that decides something begins."""

    def ended(self, method: str, request: Request, reply: Reply, request_id: str | None) -> None:
        """It was decided."""

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        """Cast the reply, in the form of the request, to `to`.

        :param left_s: seconds until the request expires.
        """


class Silent:
    """Sends nothing: the worker inside a command."""

    def errors_of(
        self, method: str, request_id: str | None
    ) -> contextlib.AbstractContextManager[None]:
        """As `Outbox.errors_of`."""
        return contextlib.nullcontext()

    def started(self, method: str, request: Request, request_id: str | None) -> None:
        """As `Outbox.started`."""

    def ended(self, method: str, request: Request, reply: Reply, request_id: str | None) -> None:
        """As `Outbox.ended`."""

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        """As `Outbox.reply`."""


def started_payload(request: Request, request_id: str | None) -> dict[str, Any]:
    """What `.start` says: of which request and cluster, and of which action or policy."""
    about = {'request_id': request_id, 'cluster': {'id': request.cluster.id}}
    if isinstance(request, BindRequest):
        policy = request.policy
        return {
            **about,
            'policy': {'id': policy.id, 'name': policy.name, 'type': policy.spec.type_name},
        }
    action = {'id': request.action.id, 'action': request.action.action}
    return {**about, 'target': request.target, 'action': action}


def ended_payload(request: Request, reply: Reply, request_id: str | None) -> dict[str, Any]:
    """What `.end` says: the reply, and of which request and cluster, and at which phase of an
    action.
    """
    answer = msgspec.to_builtins(reply)
    phase = {'target': request.target} if isinstance(request, CheckRequest) else {}
    cluster = {'id': request.cluster.id, **(answer['cluster'] or {})}
    return {**answer, 'request_id': request_id, **phase, 'cluster': cluster}
