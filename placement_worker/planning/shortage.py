"""Capacity shortages of places, derived from the failed creations in a request.

A failed attempt delays the next one there: the n-th in a row by ``initial_s * 2**(n-1)`` seconds,
at most by ``max_s``. Until then the place gets no node, afterwards one node as a probe. Nothing is
stored: the failed nodes of the cluster are the evidence, and the time is part of the decision.
"""

import datetime
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from placement_worker.contract.cluster import Node, in_utc
from placement_worker.formats import moments

FAILED = 'ERROR'
CLOCK_TOLERANCE = datetime.timedelta(minutes=1)
"""The difference between two clocks that counts as normal."""
_MOST_DOUBLINGS = 32
"""A bound of the exponent, which keeps the numbers small; any `max_s` is reached by then."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delays after failed attempts, in seconds; `initial_s` doubles with each, up to `max_s`.

    :source: https://en.wikipedia.org/wiki/Exponential_backoff
    """

    initial_s: int
    max_s: int

    def after(self, attempts: int) -> datetime.timedelta:
        """Return the delay after some failed attempts in a row, at least one."""
        doublings = min(attempts - 1, _MOST_DOUBLINGS)
        return datetime.timedelta(seconds=min(self.max_s, self.initial_s << doublings))


@dataclass(frozen=True, slots=True)
class Shortage:
    """A place that had no room for its last attempts.

    :ivar attempts: the number of failed attempts in a row; 0 if their times are unknown.
    :ivar until: the time of the next probe.
    :ivar room: the number of nodes that may be created there now: 0, or 1 for a probe.
    """

    attempts: int
    until: datetime.datetime
    room: int

    def __str__(self) -> str:
        if self.room:
            return 'short of capacity: one probe'
        return f'short of capacity until {moments.shown(self.until)}'


def failed_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes whose creation failed; they occupy no room in their place."""
    return [node for node in nodes if node.created_at is None and node.status == FAILED]


def shortage(
    failed_at: Iterable[datetime.datetime | None],
    created_at: Iterable[datetime.datetime],
    backoff: Backoff,
    now: datetime.datetime,
) -> Shortage | None:
    """Return the shortage of one place, or None if it has recovered.

    Failures in the same minute are one attempt. A node that was created after the delay of an
    attempt was a successful probe: attempts before it no longer count. Nodes that were created
    earlier prove nothing, because they may belong to the action that filled the place.

    A failure of unknown time cannot delay an attempt, and neither can one in the future: the clock
    of the engine is wrong, and waiting for it could last forever. If a place has no other failures,
    it gets one node as a probe.

    :param failed_at: the times of the failures in the place, at least one.
    :param created_at: the times at which the existing nodes of the place were created.
    """
    latest = now + CLOCK_TOLERANCE
    attempts_at = _last_of_each_minute(
        when for when in map(in_utc, filter(None, failed_at)) if when <= latest
    )
    if not attempts_at:
        return Shortage(0, now, 1)
    created = sorted(when for when in map(in_utc, created_at) if when >= attempts_at[0])
    attempts, until = _in_a_row(attempts_at, created, backoff)
    if created and created[-1] >= until:
        return None
    until = _in_whole_seconds(until)
    return Shortage(attempts, until, int(until <= now))


def _in_a_row(
    attempts_at: Sequence[datetime.datetime],
    created: Sequence[datetime.datetime],
    backoff: Backoff,
) -> tuple[int, datetime.datetime]:
    """Return the number of failed attempts since the last success, and the end of their delay.

    :param created: the times of the creations since the first attempt, in order.
    """
    attempts, until = 0, attempts_at[0]
    for when in attempts_at:
        attempts = 1 if _any_between(created, until, when) else attempts + 1
        until = when + backoff.after(attempts)
    return attempts, until


def in_future(failed: Iterable[Node], now: datetime.datetime) -> list[Node]:
    """Return the failed nodes whose times show that a clock is wrong."""
    latest = now + CLOCK_TOLERANCE
    return [node for node in failed if node.updated_at and in_utc(node.updated_at) > latest]


def _in_whole_seconds(moment: datetime.datetime) -> datetime.datetime:
    """Round a time up, so that a request at the time that a note shows is not too early."""
    whole = moment.astimezone(datetime.UTC).replace(microsecond=0)
    return whole + datetime.timedelta(seconds=bool(moment.microsecond))


def _any_between(
    ordered: Sequence[datetime.datetime], start: datetime.datetime, end: datetime.datetime
) -> bool:
    """Return whether a time is in a period, which includes its start."""
    i = bisect_left(ordered, start)
    return i < len(ordered) and ordered[i] < end


def _last_of_each_minute(times: Iterable[datetime.datetime]) -> Sequence[datetime.datetime]:
    """Return the last time in each minute that has one, in order."""
    return list({when.replace(second=0, microsecond=0): when for when in sorted(times)}.values())
