"""The errors after which a call is retried, and the delays."""

import random

import pytest
import tenacity

from placement_worker.cloud import transient_errors
from placement_worker.cloud.ports import ApiError


def after(attempt, exc=None):
    """Return the state of a retried call after a failed attempt."""
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = attempt
    state.outcome = tenacity.Future.construct(attempt, exc or ApiError('x'), exc is not None)
    return state


@pytest.mark.parametrize(('attempt', 'due'), [(1, 0.5), (2, 0.8), (3, 1.28), (6, 5), (9, 5)])
def test_wait_growing_stays_near_due_time(attempt, due):
    """Waits grow by a constant factor up to the maximum, with jitter of at most 25 %."""
    wait = transient_errors.wait_growing(0.5, 5, random.Random(1))

    waits = [wait(after(attempt)) for _ in range(100)]

    assert due * 0.75 <= min(waits) < max(waits) <= min(due * 1.25, 5)


@pytest.mark.parametrize(
    ('exc', 'wait_s'),
    [
        (ApiError('x', 429, 7), 7),
        (ApiError('x', 429, 1), 2),
        (ApiError('x', 429), 2),
        (ValueError('x'), 2),
    ],
)
def test_wait_retry_after_is_at_least_requested_delay(exc, wait_s):
    """The longer one of the requested delay and the own wait applies."""
    assert transient_errors.wait_retry_after(tenacity.wait_fixed(2))(after(1, exc)) == wait_s


@pytest.mark.parametrize(
    ('status', 'is_transient', 'has_unknown_outcome'),
    [
        (None, True, True),
        (429, True, False),
        (500, True, True),
        (501, False, False),
        (502, True, True),
        (503, True, False),
        (400, False, False),
        (404, False, False),
        (409, False, False),
    ],
)
def test_classification_of_error_follows_status(status, is_transient, has_unknown_outcome):
    """The status decides whether to retry, and whether to check the state before."""
    error = ApiError('', status)

    assert transient_errors.is_transient(error) is is_transient
    assert transient_errors.has_unknown_outcome(error) is has_unknown_outcome


def test_classification_of_other_exception_is_not_transient():
    """Only errors of cloud services are retried."""
    assert not transient_errors.is_transient(ValueError('x'))
