"""The delivery of replies and errors to the destinations that casts name in `reply_to`."""

import datetime
import logging
from collections.abc import Callable
from typing import Any

from placement_worker.contract import codec
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import Limits
from placement_worker.errors import Refused, error_object
from placement_worker.handlers import reply_address
from placement_worker.handlers.decision_state import Expiry
from placement_worker.handlers.destinations import Destinations
from placement_worker.handlers.ports import Delivery

LOG = logging.getLogger(__name__)


class ReplyDelivery:
    """Deliver replies to allowed destinations; without a port, deliver none."""

    def __init__(
        self,
        port: Delivery | None,
        destinations: Destinations,
        limits: Callable[[], Limits],
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._port = port
        self._destinations = destinations
        self._limits = limits
        self._now = now

    def check_destination(self, to: ReplyTo, request_id: str | None) -> None:
        """Check that a destination is allowed, and log a refusal.

        :raises Refused: it is not.
        """
        try:
            self._destinations.check(to)
        except Refused as cause:
            _log_unsent(request_id, cause)
            raise

    def deliver(
        self, to: ReplyTo, expires_at: datetime.datetime | None, request_id: str | None, reply: Any
    ) -> None:
        """Deliver a reply or an error until its request expires."""
        if self._port:
            left_s = Expiry(expires_at, self._now).left_s()
            self._port.reply(to, request_id, reply, left_s)

    def deliver_error(self, raw: object, request_id: str | None, exc: Exception) -> None:
        """Deliver the error of a request to the destination that it names, if any.

        The request need not fit the contract. A destination that is not allowed is logged.
        """
        if self._port is None:
            return
        try:
            address = reply_address.of_request(raw, self._limits().request_bytes)
            if address is None:
                return
            self._destinations.check(address.reply_to)
        except Refused as cause:
            _log_unsent(request_id, cause)
            return
        reply = codec.encode(error_object(exc), like=raw)
        self.deliver(address.reply_to, address.expires_at, request_id, reply)


def _log_unsent(request_id: str | None, cause: Refused) -> None:
    """Log that the engine learns of an error from this log only."""
    LOG.warning('Sent no error to reply_to of request %s: %s', request_id, cause)
