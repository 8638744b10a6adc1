"""The lines of decision logs as requests and replies, and the lines that are invalid."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from placement_worker.contract import codec, rpc
from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    Excerpt,
)
from placement_worker.decisions import replay
from placement_worker.decisions.history_events import Record
from placement_worker.decisions.records import Entry
from placement_worker.errors import InvalidInput, InvalidRequest

MALFORMED = (InvalidRequest, InvalidInput)
"""The errors of a record that no worker writes, e.g. because it was edited."""


class _Outcome(Excerpt, frozen=True):
    """The data that each decision writes to the action."""

    status: Literal['OK', 'ERROR']
    reason: str


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line of a log that is no record, or whose request or reply is not valid any more."""

    path: str
    number: int
    error: str


def lines(
    paths: Sequence[str], texts: Iterable[str]
) -> Iterator[tuple[str, int, Entry | InvalidRequest]]:
    """Yield path, number and content of the lines that contain one of the texts.

    Plans of a rebalance are left out: alone they change nothing.

    :raises OSError: a log cannot be read.
    :raises Damaged: a log cannot be decompressed.
    """
    sought = [msgspec.json.encode(text)[1:-1] for text in texts]
    for path in paths if sought else ():
        for number, entry in replay.entries(path, sought):
            if not (isinstance(entry, Entry) and entry.method == rpc.POLICY_REBALANCE.name):
                yield path, number, entry


def decoded(found: Entry | InvalidRequest) -> Record:
    """Return the record of a line, with its request and its reply.

    :raises InvalidRequest: the line is no record, or its request or reply is not valid any more.
    """
    if isinstance(found, InvalidRequest):
        raise found
    if found.method == rpc.POLICY_CHECK.name:
        return Record(found, *check_of(found))
    return Record(
        found,
        codec.decode_encoded(bytes(found.request), BindRequest),
        codec.decode(found.reply, BindReply, at='$.reply'),
    )


def check_of(entry: Entry) -> tuple[CheckRequest, CheckReply]:
    """Return the request and the reply of a check.

    :raises InvalidRequest: the request or the reply is not valid any more.
    """
    reply = codec.decode(entry.reply, CheckReply, at='$.reply')
    codec.decode(reply.action.data, _Outcome, at='$.reply.action.data')
    return codec.decode_encoded(bytes(entry.request), CheckRequest), reply
