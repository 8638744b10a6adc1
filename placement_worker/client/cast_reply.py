"""The reply to a cast, as a worker publishes it."""

from dataclasses import dataclass
from typing import Any

import msgspec

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply, Error


class _Envelope(msgspec.Struct):
    """The envelope of oslo.messaging, version 2.0: a message as JSON inside JSON."""

    message: str = msgspec.field(name='oslo.message')


class _Arguments(msgspec.Struct):
    request_id: str
    reply: Any


class _Cast(msgspec.Struct):
    args: _Arguments
    unique_id: str | None = msgspec.field(name='_unique_id', default=None)


@dataclass(frozen=True, slots=True)
class CastReply:
    """The reply to the cast that had this `request_id`.

    `unique_id` is the same in each delivery of one reply.
    """

    request_id: str
    outcome: CheckReply | errors.PlacementWorkerError
    unique_id: str | None


def decode(body: bytes | str) -> CastReply:
    """Decode the body of a message.

    :raises InvalidRequest: the body is not the reply to a cast.
    """
    envelope = codec.decode_encoded(body, _Envelope)
    cast = codec.decode_encoded(envelope.message, _Cast)
    # A request that was sent as one JSON string gets its reply as one.
    reply = cast.args.reply
    encoded = reply if isinstance(reply, str) else msgspec.json.encode(reply)
    return CastReply(cast.args.request_id, _outcome(encoded), cast.unique_id)


def _outcome(encoded: bytes | str) -> CheckReply | errors.PlacementWorkerError:
    plain = codec.decode_encoded(encoded, dict[str, Any])
    if 'error' not in plain:
        return codec.decode(plain, CheckReply)
    error = codec.decode(plain['error'], Error)
    return errors.received(error.type, error.message)
