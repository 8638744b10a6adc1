"""The lines of decision logs as requests and replies, and the lines that are invalid."""

from dataclasses import dataclass

from placement_worker.contract import codec, rpc
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.decisions.history_events import Record
from placement_worker.decisions.records import Entry
from placement_worker.errors import InvalidInput, InvalidRequest

MALFORMED = (InvalidRequest, InvalidInput)
"""The errors of a record that no worker writes, e.g. because it was edited."""


@dataclass(frozen=True, slots=True)
class InvalidLine:
    """A line of a log that is no record, or whose request or reply is not valid any more."""

    path: str
    number: int
    error: str


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
    return (
        codec.decode_encoded(bytes(entry.request), CheckRequest),
        codec.decode(entry.reply, CheckReply, at='$.reply'),
    )
