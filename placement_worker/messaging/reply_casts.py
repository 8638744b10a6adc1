"""The reply to a cast: another cast, to the destination in `reply_to` of the request."""

from typing import Any

from typing_extensions import override

from placement_worker.contract.model import ReplyTo
from placement_worker.handlers.ports import Delivery
from placement_worker.messaging.reply_sender import ReplySender, cast_message


class ReplyCasts(Delivery):
    """Delivery by casts that the broker confirms; a dropped reply is logged."""

    def __init__(self, replies: ReplySender) -> None:
        """Choose the sender, which retries."""
        self._replies = replies

    @override
    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        what = f'the reply to request {request_id} (exchange {to.exchange}, topic {to.topic})'
        message = cast_message(to.method, request_id=request_id, reply=reply)
        self._replies.send(what, message, to.exchange, to.topic, left_s)
