"""Delivery of replies to the places that casts name."""

from typing import Any

from typing_extensions import override

from placement_worker.contract.model import ReplyTo
from placement_worker.handlers.ports import Delivery
from placement_worker.messaging.replies import Replies, cast_message


class CastDelivery(Delivery):
    """Delivery by casts that the broker confirms; the log names a reply that is dropped."""

    def __init__(self, replies: Replies) -> None:
        """Choose the retry policy."""
        self._replies = replies

    @override
    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        what = f'the reply to request {request_id} (exchange {to.exchange}, topic {to.topic})'
        message = cast_message(to.method, request_id=request_id, reply=reply)
        self._replies.send(what, message, to.exchange, to.topic, left_s)
