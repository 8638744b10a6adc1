"""The shortage of a place: attempts, delays, probes, recovery and wrong clocks."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.cluster import Node
from placement_worker.planning.shortage import (
    CLOCK_TOLERANCE,
    Backoff,
    Shortage,
    failed_nodes,
    in_future,
    shortage,
)

START = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
BACKOFF = Backoff(300, 3600)


def at(minutes):
    return START + datetime.timedelta(minutes=minutes)


times = st.integers(-600, 600).map(lambda tenths: at(tenths / 10))
backoffs = st.tuples(st.integers(1, 3600), st.integers(0, 3600)).map(
    lambda seconds: Backoff(seconds[0], sum(seconds))
)


@pytest.mark.parametrize(
    ('attempts', 'minutes'), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (6, 60), (10**6, 60)]
)
def test_delay_doubles_with_each_attempt_up_to_the_maximum(attempts, minutes):
    """The delay is `initial_s` after one attempt, doubles with each, and ends at `max_s`."""
    assert BACKOFF.after(attempts) == datetime.timedelta(minutes=minutes)


@pytest.mark.parametrize(
    ('failed', 'attempts', 'until'),
    [
        ([0], 1, 5),
        ([0, 0, 0], 1, 5),
        ([0, 0.5], 1, 5.5),
        ([0, 1], 2, 11),
        ([1, 0], 2, 11),
        ([0, 5, 15], 3, 35),
    ],
    ids=['one', 'three nodes', 'same minute', 'two minutes', 'any order', 'three attempts'],
)
def test_attempts_are_distinct_minutes_of_failures(failed, attempts, until):
    """Failures in one minute are one attempt; the delay starts at the last failure."""
    now = at(16)

    found = shortage(map(at, failed), [], BACKOFF, now)

    assert (found.attempts, found.until) == (attempts, at(until))
    assert found.room == (until <= 16)


@pytest.mark.parametrize(('now', 'room'), [(4.99, 0), (5, 1), (10**5, 1)])
def test_place_gets_one_node_when_the_delay_has_passed(now, room):
    """A place gets no node during the delay, and one node as a probe from its end on."""
    assert shortage([at(0)], [], BACKOFF, at(now)).room == room


@pytest.mark.parametrize(
    ('failed', 'created', 'attempts'),
    [
        ([0], [-1], 1),
        ([0], [4], 1),
        ([0], [5], None),
        ([0, 9], [6], 1),
        ([0, 9], [4], 2),
        ([0, 9], [6, 14], None),
        ([0, 9], [9.5], 2),
    ],
    ids=[
        'created before the failure',
        'created during the delay',
        'created when the delay had passed',
        'a failure after a successful probe',
        'two failures, a node during the delay',
        'a success after each failure',
        'a node of the second attempt',
    ],
)
def test_successful_probe_ends_the_shortage(failed, created, attempts):
    """A node that was created when the delay had passed shows that the place has room again."""
    found = shortage(map(at, failed), map(at, created), BACKOFF, at(60))

    assert (found and found.attempts) == attempts


@given(
    st.lists(times, min_size=1),
    st.lists(times),
    backoffs,
    st.integers(0, 60).map(at),
    st.booleans(),
)
def test_delay_never_exceeds_the_maximum(failed, created, backoff, now, naive):
    """No clock and no number of failures delays a probe for longer than `max_s`."""
    failed = [when.replace(tzinfo=None) if naive else when for when in failed]

    found = shortage(failed, created, backoff, now)

    if found:
        limit = datetime.timedelta(seconds=backoff.max_s + 1) + CLOCK_TOLERANCE
        assert found.until <= now + limit
        assert found.room == (found.until <= now)


@pytest.mark.parametrize('when', [None, at(1.1), at(10**8)], ids=['unknown', 'soon', 'far'])
def test_failure_of_unknown_or_future_time_allows_a_probe(when):
    """A failure whose time is unknown or in the future leaves room for one node, forever."""
    assert shortage([when], [], BACKOFF, at(0)) == Shortage(0, at(0), 1)


def test_failure_within_the_tolerance_of_clocks_counts():
    """Clocks that differ by less than a minute do not end a shortage."""
    assert shortage([at(0.9)], [], BACKOFF, at(0)) == Shortage(1, at(5.9), 0)


def test_failed_nodes_were_never_created_and_are_in_error():
    """Only a node in ERROR that was never created failed to be created."""
    nodes = [
        Node('failed', status='ERROR'),
        Node('in progress', status='CREATING'),
        Node('broken later', status='ERROR', created_at=at(0)),
    ]

    assert [node.id for node in failed_nodes(nodes)] == ['failed']


def test_nodes_in_the_future_are_found():
    """Only a failure later than the tolerance shows that a clock is wrong."""
    nodes = [Node('n1', updated_at=at(2)), Node('n2', updated_at=at(1)), Node('n3')]

    assert [node.id for node in in_future(nodes, at(0))] == ['n1']


@pytest.mark.parametrize(
    ('room', 'text'),
    [
        (0, 'short of capacity until 2026-11-22T12:05:00Z'),
        (1, 'short of capacity: one probe'),
    ],
)
def test_shortage_in_words_names_the_time_or_the_probe(room, text):
    """The note of a place says until when it gets no node, or that it gets a probe."""
    assert str(Shortage(1, at(5), room)) == text


def test_end_of_a_delay_is_in_utc_and_in_whole_seconds():
    """A request at the time that a note shows is not too early."""
    zone = datetime.timezone(datetime.timedelta(hours=2))
    failed = START.replace(microsecond=1).astimezone(zone)

    until = shortage([failed], [], BACKOFF, at(1)).until

    assert until.isoformat() == '2026-11-22T12:05:01+00:00'
