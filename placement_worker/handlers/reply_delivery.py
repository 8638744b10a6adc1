"""The delivery of replies and errors to the destinations that casts name in `reply_to`.

Replies are published with the permissions of the worker, not with those of the caller, so the
exchanges and topics are limited. A request that does not fit the contract, or that crashed a
worker, gets an error too: only the keys that the delivery needs are decoded.
"""

import datetime
import fnmatch
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from placement_worker.contract import codec, rpc
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE, Limits
from placement_worker.errors import InvalidRequest, Refused, error_object
from placement_worker.handlers.decision_state import Delivery, seconds_left

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Destinations:
    """The exchanges and topics that `reply_to` may name.

    :ivar allowed: patterns `exchange` or `exchange/topic`; empty to allow all places that are not
        forbidden.
    :ivar queues: the isolation queue and the parking lot of the worker.
    :ivar notification_topics: without the priorities that oslo.messaging appends.
    """

    allowed: Sequence[str] = ()
    exchange: str = EXCHANGE
    queues: Collection[str] = ()
    notification_topics: Collection[str] = ()

    def check(self, to: ReplyTo) -> None:
        rpc.check_exchange(to.exchange, self.exchange, '$.reply_to.exchange')
        rpc.check_topic(to.topic, self.queues, '$.reply_to.topic')
        if rpc.is_below(to.topic, self.notification_topics):
            raise InvalidRequest(
                f'Expected a topic that carries no notifications, got `{to.topic}` '
                '- at `$.reply_to.topic`'
            )
        if self.allowed and not self._is_listed(to):
            raise InvalidRequest(
                'Expected what [worker] reply_to_allowed lists, got '
                f'`{to.exchange}/{to.topic}` - at `$.reply_to`'
            )

    def _is_listed(self, to: ReplyTo) -> bool:
        return any(
            fnmatch.fnmatchcase(
                f'{to.exchange}/{to.topic}', pattern if '/' in pattern else f'{pattern}/*'
            )
            for pattern in self.allowed
        )


class _Keys(msgspec.Struct, frozen=True):
    reply_to: ReplyTo | None = None
    expires_at: msgspec.Raw = msgspec.Raw(b'null')


def address_of(raw: object, max_bytes: int) -> tuple[ReplyTo, datetime.datetime | None] | None:
    """Return the destination of the reply to a request and its expiry; None without a destination.

    :param raw: the request as plain data or as a JSON string; only `reply_to` must be valid.
    :raises InvalidRequest: `reply_to` is not valid, or the string is too large or no JSON.
    """
    keys = codec.excerpt(raw, _Keys, max_bytes)
    if keys.reply_to is None:
        return None
    return keys.reply_to, codec.decoded_or_none(keys.expires_at, datetime.datetime)


@dataclass(frozen=True, slots=True)
class ReplyDelivery:
    """Deliver replies to allowed destinations; without a port, deliver none."""

    _port: Delivery | None
    _destinations: Destinations
    _limits: Callable[[], Limits]
    _now: Callable[[], datetime.datetime]

    def deliver(
        self, to: ReplyTo, expires_at: datetime.datetime | None, request_id: str | None, reply: Any
    ) -> None:
        if self._port:
            self._port.reply(to, request_id, reply, seconds_left(expires_at, self._now()))

    def deliver_error(self, raw: object, request_id: str | None, exc: Exception) -> None:
        """Deliver the error of a request to the destination that it names, if any.

        The request need not fit the contract. A destination that is not allowed is logged.
        """
        if self._port is None:
            return
        try:
            address = address_of(raw, self._limits().request_bytes)
            if address is None:
                return
            to, expires_at = address
            self._destinations.check(to)
        except Refused as cause:
            # The engine learns of the error from this log only.
            LOG.warning('Sent no error to reply_to of request %s: %s', request_id, cause)
            return
        reply = codec.encode(error_object(exc), like=raw)
        self.deliver(to, expires_at, request_id, reply)
