"""Decide the checks of one message, each on its own."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from placement_worker.contract import codec, rpc
from placement_worker.contract.model import MAX_CHECKS, CheckReply, CheckRequest
from placement_worker.errors import InvalidRequest, PlacementWorkerError, error_object
from placement_worker.events.listener import Listener
from placement_worker.events.types import RequestFailed
from placement_worker.handlers import request_subject

LOG = logging.getLogger(__name__)


class EncodedChecks(msgspec.Struct, frozen=True):
    """The checks of a message before they are decoded, so that a malformed one fails alone."""

    requests: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MAX_CHECKS)]


@dataclass(frozen=True, slots=True)
class BulkChecks:
    """Decides the checks of a message, and reports the error of each check that has one.

    :ivar check: decides one check.
    """

    check: Callable[[CheckRequest, str | None], CheckReply]
    events: Listener

    def results(self, checks: EncodedChecks, request_id: str | None) -> bytes:
        """Return the reply or the error of each check as JSON, in order."""
        return msgspec.json.encode(
            [self._result(bytes(one), request_id) for one in checks.requests]
        )

    def _result(self, encoded: bytes, request_id: str | None) -> object:
        try:
            request = codec.decode_encoded(encoded, CheckRequest)
            _check_shares_message(request)
            # A reply that JSON cannot hold must not lose the others.
            return {'reply': msgspec.Raw(msgspec.json.encode(self.check(request, request_id)))}
        except Exception as exc:
            subject = request_subject.of_request(encoded.decode(), len(encoded))
            self.events.handle(RequestFailed(rpc.POLICY_CHECK.name, exc, request_id, subject))
            if not isinstance(exc, PlacementWorkerError):
                LOG.exception('%s%s failed', subject, rpc.POLICY_CHECK.name)
            return error_object(exc)


def _check_shares_message(request: CheckRequest) -> None:
    """Check that a request may share its message.

    The message is delivered again as a whole if its worker crashes, so no request of it may change
    a load balancer, or have its reply delivered elsewhere.

    :raises InvalidRequest: it must be sent alone.
    """
    if request.reply_to:
        raise InvalidRequest(
            'Expected `null` in policy_check_many, got `object` - at `$.reply_to`: cast this check '
            'alone, with policy_check'
        )
    if rpc.is_slow(request):
        raise InvalidRequest(
            'Expected no load-balancing policy for this action in policy_check_many - at '
            '`$.policies`: send this check alone, with policy_check'
        )
