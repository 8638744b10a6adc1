"""The address of the reply to a request that is not decoded, or does not fit the contract."""

import datetime
from typing import NamedTuple

import msgspec

from placement_worker.contract import codec
from placement_worker.contract.model import ReplyTo
from placement_worker.errors import InvalidRequest


class ReplyAddress(NamedTuple):
    """The keys of a request that its reply needs."""

    reply_to: ReplyTo
    expires_at: datetime.datetime | None


class _Keys(msgspec.Struct, frozen=True):
    """The keys of `ReplyAddress`.

    The others are not decoded, since the request may be the one that crashed a worker.
    """

    reply_to: ReplyTo | None = None
    expires_at: msgspec.Raw = msgspec.Raw(b'null')


def of_request(raw: object, max_bytes: int) -> ReplyAddress | None:
    """Return the address of the reply to a request, or None if the request names none.

    :param raw: the request as plain data or as a JSON string; only `reply_to` must be valid.
    :param max_bytes: the largest size of a JSON string.
    :raises InvalidRequest: there is no valid `reply_to`, or the string is too large or no JSON.
    """
    keys = _keys(raw, max_bytes)
    if keys.reply_to is None:
        return None
    return ReplyAddress(keys.reply_to, _time(keys.expires_at))


def _keys(raw: object, max_bytes: int) -> _Keys:
    if isinstance(raw, str):
        # JSON may escape a lone surrogate, which UTF-8 cannot encode.
        return codec.decode_encoded(raw.encode(errors='replace'), _Keys, max_bytes)
    if isinstance(raw, dict):
        raw = {key: raw[key] for key in _Keys.__struct_fields__ if key in raw}
    return codec.decode(raw, _Keys)


def _time(encoded: msgspec.Raw) -> datetime.datetime | None:
    try:
        return codec.decode_encoded(bytes(encoded), datetime.datetime)
    except InvalidRequest:
        return None
