"""The shortage of a place: attempts, delays, probes, recovery and wrong clocks."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.action_data import MOST_ATTEMPTS, RecordedFailure
from placement_worker.contract.model import Node
from placement_worker.planning.shortage import (
    Backoff,
    Memory,
    Shortage,
    failures_after_deletion,
    is_evidence,
    shortages_by_place,
)

START = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
BACKOFF = Backoff(300, 3600)


def at(minutes):
    return START + datetime.timedelta(minutes=minutes)


def failed_in(place, number, when):
    return Node(
        f'{place}{number}',
        status='ERROR',
        status_reason='No valid host was found.',
        updated_at=when,
        data={'placement': {'zone': place}},
    )


def zone_of(node):
    return None, node.data['placement']['zone']


def shortage(failed, created, backoff, now):
    place = {'placement': {'zone': 'a'}}
    nodes = [failed_in('a', i, when) for i, when in enumerate(failed)]
    nodes += [Node(f'ok{i}', created_at=when, data=place) for i, when in enumerate(created)]
    return shortages_by_place(nodes, Memory(), zone_of, backoff, now).get((None, 'a'))


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
        limit = datetime.timedelta(seconds=backoff.max_s + 1, minutes=1)
        assert found.until <= now + limit
        assert found.room == (found.until <= now)


@pytest.mark.parametrize('when', [None, at(1.1), at(10**8)], ids=['unknown', 'soon', 'far'])
def test_failure_of_unknown_or_future_time_allows_a_probe(when):
    """A failure whose time is unknown or in the future leaves room for one node, forever."""
    assert shortage([when], [], BACKOFF, at(0)) == Shortage(0, at(0), 1)


def test_failure_within_the_tolerance_of_clocks_counts():
    """Clocks that differ by less than a minute do not end a shortage."""
    assert shortage([at(0.9)], [], BACKOFF, at(0)) == Shortage(1, at(5.9), 0)


def in_words(failed, created, backoff):
    """Return the attempts in a row and the end of the delay, by the words of the manual."""
    attempts, first, until = 0, None, None
    for when in sorted(failed):
        is_probe = until is None or when >= until
        if is_probe or when - first > datetime.timedelta(seconds=backoff.initial_s):
            succeeded = is_probe and any(until <= one < when for one in created if until)
            attempts, first = (0 if succeeded else attempts) + 1, when
        delay_s = backoff.initial_s
        for _ in range(attempts - 1):
            delay_s = min(2 * delay_s, backoff.max_s)
        until = when + datetime.timedelta(seconds=delay_s)
    return attempts, until


@given(st.lists(times, min_size=1, max_size=9), st.lists(times, max_size=4), backoffs)
def test_shortage_agrees_with_the_words_of_the_manual(failed, created, backoff):
    """Attempts and delay are those of a slow definition, for any failures and creations."""
    attempts, until = in_words(failed, created, backoff)

    found = shortage(failed, created, backoff, at(60))

    if any(when >= until for when in created):
        assert found is None
    else:
        assert found.attempts == attempts
        assert 0 <= (found.until - until).total_seconds() < 1


def record(zone, minutes, attempts=1):
    return RecordedFailure(zone=zone, at=at(minutes), attempts=attempts)


@given(
    st.lists(st.tuples(times, st.sampled_from('ab')), min_size=1, max_size=8), backoffs, st.data()
)
def test_shortage_is_the_same_after_failed_nodes_are_deleted(failures, backoff, data):
    """A record of deleted nodes neither loses an attempt nor counts one twice.

    The age of a record is not limited here.
    """
    nodes = [failed_in(zone, i, when) for i, (when, zone) in enumerate(failures)]
    before = shortages_by_place(nodes, Memory(), zone_of, backoff, at(60))
    memory = Memory((), 10**6)
    for batch in data.draw(st.lists(st.sets(st.sampled_from([one.id for one in nodes])))):
        known = failures_after_deletion(batch, nodes, memory, zone_of, backoff, at(60))
        memory = memory if known is None else Memory(known, memory.longest_s)
        assert failures_after_deletion(batch, nodes, memory, zone_of, backoff, at(60)) is None
        nodes = [node for node in nodes if node.id not in batch]
        assert shortages_by_place(nodes, memory, zone_of, backoff, at(60)) == before
        assert len(memory.failures) <= 2


def test_node_of_the_same_attempt_that_was_created_later_ends_no_record():
    """A place with room for one of two nodes stays full after the failed node is deleted."""
    created = Node('ok', created_at=at(1), data={'placement': {'zone': 'a'}})
    nodes = [failed_in('a', 1, at(0)), created]

    known = failures_after_deletion({'a1'}, nodes, Memory((), 3600), zone_of, BACKOFF, at(2))

    assert known == [record('a', 1)]
    found = shortages_by_place([created], Memory(known, 3600), zone_of, BACKOFF, at(2))
    assert found == {(None, 'a'): Shortage(1, at(6), 0)}


@pytest.mark.parametrize(
    ('recorded', 'created', 'attempts'),
    [
        (record('a', 0), None, 1),
        (record('a', 0, 3), None, 3),
        (record('a', -0.01), None, None),
        (record('a', 62), None, None),
        (record('a', 30), 31, None),
        (record('a', 30), 29, 1),
        (record('b', 0), None, None),
    ],
    ids=['young', 'third attempt', 'old', 'future', 'created since', 'created before', 'elsewhere'],
)
def test_recorded_failure_ends_by_age_or_by_a_new_node(recorded, created, attempts):
    """A record counts until it is older than the longest delay, or its place gets a node."""
    when = None if created is None else at(created)
    nodes = [Node('n', created_at=when, data={'placement': {'zone': 'a'}})]

    found = shortages_by_place(nodes, Memory([recorded], 3600), zone_of, BACKOFF, at(60))

    assert getattr(found.get((None, 'a')), 'attempts', None) == attempts


def test_deletion_records_the_places_of_its_nodes_and_drops_ended_records():
    """Other places keep their records; a failure of unknown time leaves none."""
    nodes = [failed_in('a', 1, at(9)), failed_in('b', 1, at(8)), failed_in('c', 1, None)]
    memory = Memory([record('a', 0, 2), record('d', 5), record('e', -99)], 3600)

    known = failures_after_deletion({'a1', 'c1'}, nodes, memory, zone_of, BACKOFF, at(10))

    assert known == [record('a', 9, 3), record('d', 5)]


def test_attempts_of_a_record_have_a_maximum():
    """A record that an engine stores is valid in its next request."""
    memory = Memory([record('a', 0, MOST_ATTEMPTS)], 3600)

    (known,) = failures_after_deletion(
        {'a1'}, [failed_in('a', 1, at(59))], memory, zone_of, BACKOFF, at(60)
    )

    assert known == record('a', 59, MOST_ATTEMPTS)


def test_end_of_a_delay_is_in_utc_and_in_whole_seconds():
    """A request at the time that a note shows is not too early."""
    zone = datetime.timezone(datetime.timedelta(hours=2))
    failed = START.replace(microsecond=1).astimezone(zone)

    until = shortage([failed], [], BACKOFF, at(1)).until

    assert until.isoformat() == '2026-11-22T12:05:01+00:00'


def refused(status_reason, **more):
    placed = {'placement': {'zone': 'a'}}
    return Node(
        **{'id': 'n', 'status': 'ERROR', 'status_reason': status_reason, 'data': placed} | more
    )


IN_SENLIN = 'Failed in creating server: Server:s1 transitioned to failure state ERROR: {}.'


@pytest.mark.parametrize(
    'fault',
    [
        'No valid host was found. There are not enough hosts available.',
        'NoValidHost',
        'Exceeded maximum number of retries. Exhausted all hosts available for retrying build '
        'failures for instance 6f0c.',
        'Insufficient compute resources: Free memory 512.00 MB < requested 1024 MB.',
        'No valid host was found. Image quota_service needs an aggregate.',
        'Exceeded maximum number of retries. Exhausted all hosts, the last one was quota-1.',
    ],
)
@pytest.mark.parametrize('sentence', ['{}', IN_SENLIN, 'ResourceInError: {}'])
def test_text_of_nova_means_no_capacity_in_any_sentence(fault, sentence):
    """The texts of Nova are recognized alone, and inside the sentences of engines."""
    assert is_evidence(refused(sentence.format(fault)))


@pytest.mark.parametrize(
    'reason',
    [
        None,
        '',
        'Quota exceeded for instances: Requested 1, but already used 10 of 10 instances',
        'No valid host was found. Quota exceeded for cores',
        "No valid host was found. Quota exceeded for resources: ['port'].",
        'No valid host was found. Maximum number of ports exceeded',
        'Exceeded maximum number of retries. Project 6f0c is over a limit for cores',
        'No valid host was found. VolumeSizeExceedsAvailableQuota: Requested volume or snapshot '
        'exceeds allowed gigabytes quota. Requested 9G, quota is 5G and 0G has been consumed.',
        "No valid host was found. Maximum number of volumes allowed (5) exceeded for quota 'x'.",
        IN_SENLIN.format('Build of instance s1 aborted: Failed to allocate the network'),
        'Failed in creating server: Server:s1 transitioned to failure state ERROR.',
    ],
)
def test_other_failure_does_not_mean_no_capacity(reason):
    """Other failures, and the errors of quotas, say nothing about the room of a place."""
    assert not is_evidence(refused(reason))


@pytest.mark.parametrize('more', [{'data': {}}, {'created_at': START}, {'status': 'CREATING'}, {}])
def test_failure_is_evidence_if_a_policy_chose_the_place_and_the_node_was_never_created(more):
    """A node that failed later, or in a place that no policy chose, proves nothing."""
    assert is_evidence(refused('NoValidHost', **more)) == (not more)
