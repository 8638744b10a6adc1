"""The reasons why a worker is not alive or not ready."""

import math

import pytest

from placement_worker.health.heartbeats import ProcessState
from placement_worker.health.thresholds import Thresholds, liveness_failures, readiness_failures

THRESHOLDS = Thresholds(poll_age_s=30, request_age_s=900, reconnect_age_s=0, disconnected_s=20)


@pytest.mark.parametrize(
    ('process', 'failures'),
    [
        (ProcessState(7, None, 30, None, None), []),
        (
            ProcessState(7, None, 31.25, None, None),
            ['process 7 last polled 31.2 s ago (limit 30 s)'],
        ),
        (
            ProcessState(0, math.inf, 31, None, None),
            ['a process that has not started last polled 31.0 s ago (limit 30 s)'],
        ),
        (ProcessState(7, None, 0, 900, None), []),
        (
            ProcessState(7, None, 0, 901, None),
            ['process 7 has had a request in flight for 901.0 s (limit 900 s)'],
        ),
    ],
)
def test_liveness_fails_beyond_a_threshold_and_not_at_it(process, failures):
    """Each failure names the process, its age and the threshold."""
    assert liveness_failures([process], THRESHOLDS) == failures


def test_liveness_of_a_worker_that_stops_ignores_polls_but_not_requests():
    """A worker that stops need not poll, but it must not hang in a request."""
    processes = [ProcessState(7, None, 100, 10, None), ProcessState(8, None, 100, 901, None)]

    assert liveness_failures(processes, THRESHOLDS, stopping=True) == [
        'process 8 has had a request in flight for 901.0 s (limit 900 s)'
    ]


@pytest.mark.parametrize(('reconnect_age_s', 'alive'), [(0, True), (200, True), (99, False)])
def test_liveness_of_a_disconnected_process_depends_on_reconnect_age_s_alone(
    reconnect_age_s, alive
):
    """An outage of the broker restarts no worker, unless an operator limits the age of the last
    attempt to connect.
    """
    disconnected = ProcessState(7, None, 100, None, 100)
    thresholds = THRESHOLDS._replace(reconnect_age_s=reconnect_age_s)

    assert (liveness_failures([disconnected], thresholds) == []) is alive


@pytest.mark.parametrize(
    ('process', 'failures'),
    [
        (ProcessState(7, None, 0, None, None), []),
        (ProcessState(7, None, 0, None, 20), []),
        (
            ProcessState(7, None, 0, None, 21),
            ['process 7 has had no broker connection for 21.0 s (limit 20 s)'],
        ),
        (
            ProcessState(0, math.inf, 0, None, None),
            ['a process that has not started has not reached the broker yet'],
        ),
        (ProcessState(7, 20, 0, None, None), []),
        (
            ProcessState(7, 21, 0, None, None),
            ['process 7 has not served for 21.0 s (limit 20 s)'],
        ),
    ],
)
def test_readiness_fails_without_a_broker_connection_beyond_a_threshold(process, failures):
    """A worker that has been disconnected for longer than the threshold is alive and not ready."""
    assert readiness_failures([process], THRESHOLDS) == failures
    assert liveness_failures([process], THRESHOLDS) == []


def test_readiness_of_a_worker_that_stops_fails():
    """A worker that stops takes no more requests."""
    processes = [ProcessState(7, None, 0, None, None)]

    assert readiness_failures(processes, THRESHOLDS, stopping=True) == ['the worker is stopping']
