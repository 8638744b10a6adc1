"""Capacity shortages of places, derived from the failed creations in a request.

A failed attempt delays the next one there: the n-th in a row by ``initial_s * 2**(n-1)`` seconds,
at most by ``max_s``. Until then the place gets no node, afterwards one node as a probe. The failed
nodes of the cluster are the evidence. They are also the first victims, so a record in the data of
the cluster replaces those that are deleted: without it, the next node would go to the full place.
"""

import datetime
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from placement_worker.contract.action_data import MOST_ATTEMPTS, Placement, RecordedFailure
from placement_worker.contract.model import Node, in_utc
from placement_worker.formats.text import counted, day_or_time

P = TypeVar('P', bound=Hashable)
_FAILED = 'ERROR'
_CLOCK_TOLERANCE = datetime.timedelta(minutes=1)  # a normal difference between two clocks
_MOST_DOUBLINGS = 32  # bounds the exponent; any `max_s` is reached by then

# The phrases of OpenStack, in lower case, that mean that a place has no room for a new server. An
# engine stores them in `status_reason` of a node, mostly inside a sentence of its own.
# Source: nova/exception.py and nova/compute/utils.py of Nova 34.0.0. The class name NoValidHost is
# the message where Nova cannot format the text.
_CAPACITY_PHRASES = (
    'no valid host was found',
    'novalidhost',
    'exceeded maximum number of retries',  # the build failed on each host that was chosen
    'insufficient compute resources',  # the chosen host was full
)
# A quota limits the project in all places: nodes would leave a place that has room. The word
# "quota" alone proves nothing, since images and hosts have such names.
# Source: exception.py of Nova 34.0.0, Cinder 29.0.0 and oslo.limit 2.12.0;
# neutron_lib/exceptions/__init__.py of neutron-lib 5.0.1.
_QUOTA_PHRASES = (
    'quota exceeded',
    'overquota',
    'maximum number of floating ips exceeded',
    'maximum number of security groups or rules exceeded',
    'maximum number of ports exceeded',
    'is over a limit for',
    'requested volume or snapshot exceeds allowed',
    'is larger than maximum allowed limit',
    'maximum number of volumes allowed',
    'maximum number of snapshots allowed',
    'unexpected over quota on',
)


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delays after failed attempts, in seconds; `initial_s` doubles with each, up to `max_s`.

    :source: https://en.wikipedia.org/wiki/Exponential_backoff
    """

    initial_s: int
    max_s: int

    def after(self, attempts: int) -> datetime.timedelta:
        doublings = min(attempts - 1, _MOST_DOUBLINGS)
        return datetime.timedelta(seconds=min(self.max_s, self.initial_s << doublings))


@dataclass(frozen=True, slots=True)
class Shortage:
    """A place that had no room for its last attempts.

    :ivar attempts: failed ones in a row; 0 if their times are unknown.
    :ivar room: the number of nodes that may be created there now: 0, or 1 for a probe.
    :ivar remembered: whether a record is part of the evidence, rather than nodes alone.
    """

    attempts: int
    until: datetime.datetime
    room: int
    remembered: bool = field(default=False, compare=False)
    failed: Node | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.room:
            return 'short of capacity: one probe'
        return f'short of capacity until {day_or_time(self.until)}'

    @property
    def cause(self) -> str:
        if not self.attempts:
            return 'failed at an unknown time or in the future; check the clock of the engine'
        attempts = counted(self.attempts, 'failed attempt')
        return f'{attempts}, remembered' if self.remembered else attempts


@dataclass(frozen=True, slots=True)
class Memory:
    failures: Sequence[RecordedFailure] = ()
    longest_s: int = 0


def creation_failed(node: Node) -> bool:
    """Such a node takes no room in its place."""
    return node.created_at is None and node.status == _FAILED


def is_evidence(node: Node) -> bool:
    """A node whose data have no placement proves nothing: no policy chose its place."""
    if not creation_failed(node):
        return False
    text = (node.status_reason or '').lower()
    if not any(phrase in text for phrase in _CAPACITY_PHRASES):
        return False
    is_quota = any(phrase in text for phrase in _QUOTA_PHRASES)
    return not is_quota and bool(Placement.of(node.data.get('placement')))


def last_failed(nodes: Iterable[Node]) -> Node | None:
    """An unknown time comes before all others."""
    unknown = datetime.datetime.min
    return max(nodes, key=lambda node: in_utc(node.updated_at or unknown), default=None)


def shortages_by_place(
    nodes: Sequence[Node],
    memory: Memory,
    locate: Callable[[Node], P],
    backoff: Backoff,
    now: datetime.datetime,
) -> dict[P, Shortage]:
    if not memory.failures and not any(map(is_evidence, nodes)):
        return {}
    evidence = _by_place(nodes, locate)
    recorded = _in_force(memory, evidence, locate, now)
    shortages: dict[P, Shortage] = {}
    for place in dict.fromkeys([*evidence, *recorded]):
        of_place = evidence.get(place, _Evidence())
        if of_place.failed or place in recorded:
            shortage = _shortage(of_place, backoff, now, recorded.get(place))
            if shortage:
                shortages[place] = shortage
    return shortages


def failures_after_deletion(
    deleted: Collection[str],
    nodes: Sequence[Node],
    memory: Memory,
    locate: Callable[[Node], tuple[str | None, str | None]],
    backoff: Backoff,
    now: datetime.datetime,
) -> list[RecordedFailure] | None:
    """Return the recorded failures after nodes are deleted, or None if they do not change.

    The record of a place covers all of its failures so far, so that repeated checks of the same
    nodes, and checks that delete some of them, count no attempt twice.
    """
    is_concerned = any(node.id in deleted and is_evidence(node) for node in nodes)
    if not memory.failures and not is_concerned:
        return None
    evidence = _by_place(nodes, locate)
    recorded = _in_force(memory, evidence, locate, now)
    for place, of_place in evidence.items():
        times = _failure_times(of_place, now)
        if times and any(node.id in deleted for node in of_place.failed):
            created = of_place.created_at
            attempts, last, until = _in_a_row(times, created, backoff, recorded.get(place))
            # A node of the same attempt, which was created later, must not end the record.
            at = max([last, *(when for when in created if when < until and when <= now)])
            record = RecordedFailure(
                region_name=place[0], zone=place[1], at=at, attempts=min(attempts, MOST_ATTEMPTS)
            )
            recorded |= _in_force(replace(memory, failures=[record]), evidence, locate, now)
    failures = sorted(recorded.values(), key=_by_name)
    return None if failures == sorted(memory.failures, key=_by_name) else failures


@dataclass(slots=True)
class _Evidence:
    failed: list[Node] = field(default_factory=list)
    created_at: list[datetime.datetime] = field(default_factory=list)


def _by_place(nodes: Iterable[Node], locate: Callable[[Node], P]) -> dict[P, _Evidence]:
    evidence: defaultdict[P, _Evidence] = defaultdict(_Evidence)
    for node in nodes:
        if node.created_at is not None:
            evidence[locate(node)].created_at.append(in_utc(node.created_at))
        elif is_evidence(node):
            evidence[locate(node)].failed.append(node)
    for of_place in evidence.values():
        of_place.created_at.sort()
    return evidence


def _in_force(
    memory: Memory,
    evidence: Mapping[P, _Evidence],
    locate: Callable[[Node], P],
    now: datetime.datetime,
) -> dict[P, RecordedFailure]:
    """A record ends by its age, or when a node is created in its place.

    A failure in the future does not count: waiting for its end could last forever.
    """
    failures: dict[P, RecordedFailure] = {}
    oldest = now - datetime.timedelta(seconds=memory.longest_s)
    for failure in sorted(memory.failures, key=lambda failure: in_utc(failure.at)):
        placement = {'region_name': failure.region_name, 'zone': failure.zone}
        at, place = in_utc(failure.at), locate(Node('', data={'placement': placement}))
        created = evidence[place].created_at if place in evidence else []
        if oldest <= at <= now + _CLOCK_TOLERANCE and not (created and created[-1] > at):
            failures[place] = failure
    return failures


def _by_name(failure: RecordedFailure) -> tuple[str, str]:
    return failure.region_name or '', failure.zone or ''


def _shortage(
    evidence: _Evidence, backoff: Backoff, now: datetime.datetime, recorded: RecordedFailure | None
) -> Shortage | None:
    """Return the shortage of one place, or None if it has recovered.

    Failures within `initial_s` of the first one of an attempt belong to it, unless the delay has
    passed: the later node was a probe. A node that was created after the delay of an attempt was a
    successful probe: attempts before it no longer count. Nodes that were created earlier prove
    nothing, because they may belong to the action that filled the place.

    A failure of unknown time cannot delay an attempt, and neither can one in the future. If a place
    has no other failures, it gets one node as a probe.

    :param evidence: with a failed node, unless failures are recorded.
    """
    times, failed = _failure_times(evidence, now), last_failed(evidence.failed)
    if not times and not recorded:
        return Shortage(0, now, 1, failed=failed)
    attempts, _, until = _in_a_row(times, evidence.created_at, backoff, recorded)
    if evidence.created_at and evidence.created_at[-1] >= until:
        return None
    # Round up to seconds, so that a request at the time that a note shows is not too early.
    until = until.astimezone(datetime.UTC)
    until = until.replace(microsecond=0) + datetime.timedelta(seconds=bool(until.microsecond))
    return Shortage(attempts, until, int(until <= now), recorded is not None, failed)


def _failure_times(evidence: _Evidence, now: datetime.datetime) -> list[datetime.datetime]:
    # A time in the future shows that a clock is wrong.
    times = (in_utc(node.updated_at) for node in evidence.failed if node.updated_at)
    return sorted(when for when in times if when <= now + _CLOCK_TOLERANCE)


def _in_a_row(
    failed_at: Sequence[datetime.datetime],
    created: Sequence[datetime.datetime],
    backoff: Backoff,
    recorded: RecordedFailure | None,
) -> tuple[int, datetime.datetime, datetime.datetime]:
    """Return the failed attempts since the last success, the last failure, the end of its delay.

    A record covers all failures up to its time, also those whose nodes still exist.

    :param failed_at: in order, at least one without `recorded`.
    :param created: the times of creations in order.
    """
    if recorded:
        attempts, first = recorded.attempts, in_utc(recorded.at)
        until = first + backoff.after(attempts)
        failed_at = [when for when in failed_at if when > first]
    else:
        attempts, first, until = 0, failed_at[0], failed_at[0]
    last, window = first, datetime.timedelta(seconds=backoff.initial_s)
    for last in failed_at:
        if last >= until or last > first + window:
            probe = bisect_left(created, until)
            succeeded = probe < len(created) and created[probe] < last
            attempts = 1 if succeeded else attempts + 1
            first = last
        until = last + backoff.after(attempts)
    return attempts, last, until
