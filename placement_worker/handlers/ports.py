"""The outputs of a worker that are no events."""

from typing import Any, Protocol

from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    ReplyTo,
)

Request = CheckRequest | BindRequest
Reply = CheckReply | BindReply


class Delivery(Protocol):
    """Delivery of replies to the places that casts name."""

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        """Deliver a reply.

        :param to: the destination.
        :param request_id: the id in the context of the caller.
        :param reply: the reply, in the form of the request: plain data or a JSON string.
        :param left_s: seconds until the request expires.
        """
