"""Heartbeats in a list that stands for the shared memory."""

import math

import pytest

from placement_worker.health.heartbeats import COLUMNS, Heartbeat, HeartbeatTable, ProcessState

NOW = 1000.0


@pytest.fixture
def table():
    """Heartbeats of two processes."""
    return HeartbeatTable([7.0] * 2 * COLUMNS, NOW)


def test_process_that_has_not_started_polled_just_now(table):
    """A process has time to start before its missing polls count."""
    assert table.read(NOW)[0] == ProcessState(0, math.inf, 0, None, None)


def test_process_with_several_servers_has_the_oldest_poll_and_the_oldest_request(table):
    """A single server that hangs is not hidden by the others of its process."""
    table.start_process(1, 4711)
    table.publish(1, [Heartbeat(998, 990, None), Heartbeat(995, None, None)], NOW)

    idle, busy = table.read(NOW)

    assert idle.pid == 0
    assert busy == ProcessState(
        4711, unserved_s=None, poll_age_s=5, request_age_s=10, disconnected_s=None
    )


def test_process_with_two_requests_in_flight_has_the_age_of_the_older_one(table):
    """The oldest request in flight counts."""
    table.publish(0, [Heartbeat(NOW, 990, None), Heartbeat(NOW, 980, None)], NOW)

    assert table.read(NOW)[0].request_age_s == 20


def test_process_with_a_lost_connection_has_the_age_of_the_earliest_loss(table):
    """The connection that was lost first counts."""
    table.publish(0, [Heartbeat(NOW, None, 970), Heartbeat(NOW, None, 980)], NOW)

    assert table.read(NOW)[0].disconnected_s == 30


def test_process_with_a_server_that_waits_for_its_broker_does_not_serve(table):
    """A process serves only while all its servers listen."""
    table.publish(0, [None, None], NOW)
    table.publish(1, [Heartbeat(NOW, None, None), None], NOW)

    processes = table.read(NOW)

    assert [one.unserved_s for one in processes] == [math.inf, math.inf]
    assert [one.poll_age_s for one in processes] == [0, 0]


def test_process_that_replaces_a_dead_one_keeps_the_age_of_the_last_poll(table):
    """Processes that die as soon as they start do not look alive."""
    table.start_process(0, 4711)
    table.publish(0, [Heartbeat(NOW, 900, 900)], NOW)

    table.start_process(0, 4712)

    assert table.read(NOW + 31)[0] == ProcessState(4712, 31, 31, None, None)


def test_process_that_takes_the_place_of_another_is_unserved_since_its_last_poll(table):
    """Readiness gives it some time, which attempts to reach the broker do not prolong."""
    table.publish(0, [Heartbeat(NOW, None, None)], NOW)
    table.start_process(0, 4712)
    table.publish(0, [None], NOW + 10)

    assert table.read(NOW + 12)[0] == ProcessState(4712, 12, 2, None, None)


def test_process_that_loses_its_servers_is_unserved_from_then_on(table):
    """The first heartbeat without a server counts."""
    table.publish(0, [Heartbeat(NOW, None, None)], NOW)
    table.publish(0, [None], NOW + 10)
    table.publish(0, [None], NOW + 20)

    assert table.read(NOW + 20)[0].unserved_s == 10


def test_age_of_a_time_in_the_future_is_zero(table):
    """A heartbeat that is published while the parent reads has no negative age."""
    table.publish(0, [Heartbeat(NOW + 1, NOW + 1, None)], NOW)

    assert table.read(NOW)[0] == ProcessState(0, None, 0, 0, None)
