"""The reply to a cast, as a worker publishes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply


class _Envelope(msgspec.Struct):
    """The envelope of oslo.messaging, version 2.0: a message as JSON inside JSON."""

    message: str = msgspec.field(name='oslo.message')


class _Arguments(msgspec.Struct):
    request_id: str
    reply: Any


class _Cast(msgspec.Struct):
    args: _Arguments
    unique_id: str | None = msgspec.field(name='_unique_id', default=None)


class _Error(msgspec.Struct):
    type: str
    message: str


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
    return _error(plain['error'])


def _error(plain: Mapping[str, Any]) -> errors.PlacementWorkerError:
    """Return the error of a worker; a class that this version does not have is WorkerFailed."""
    error = codec.decode(plain, _Error)
    kind = getattr(errors, error.type, None)
    if isinstance(kind, type) and issubclass(kind, errors.PlacementWorkerError):
        return kind(error.message)
    return errors.WorkerFailed(f'{error.type}: {error.message}')
