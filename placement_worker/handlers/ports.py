"""The outputs of a worker that are not events: replies to casts, and records of decisions."""

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    RebalanceReply,
    RebalanceRequest,
    ReplyTo,
)
from placement_worker.handlers.decision_state import Conditions
from placement_worker.planning.places import Cordon

Request = CheckRequest | BindRequest | RebalanceRequest
Reply = CheckReply | BindReply | RebalanceReply
CordonsInForce = Callable[[datetime.datetime], Sequence[Cordon]]
"""A function that returns the cordons in force at a time."""


class Delivery(Protocol):
    """Delivery of replies to the places that casts name."""

    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        """Deliver a reply.

        :param to: the destination.
        :param request_id: the id in the context of the caller.
        :param reply: the reply, in the form of the request: plain data or a JSON string.
        :param left_s: seconds until the request expires.
        :raises ReplyPending: the reply was not delivered, but may be later.
        """


class Record(Protocol):
    """The record of one decision."""

    @property
    def conditions(self) -> Conditions:
        """The conditions to decide under; the record notes the values that are read from them."""

    def end(self, method: str, request: Request, reply: Reply) -> None:
        """Complete the record. An error must not be raised, since the cloud has been changed."""


class Recorder(Protocol):
    """A port that records decisions."""

    def begin(self, request_id: str | None, conditions: Conditions) -> Record:
        """Begin the record of a decision.

        :param conditions: the conditions in force.
        """
