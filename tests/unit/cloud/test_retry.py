"""The building blocks of retries."""

import random

import pytest
import tenacity

from placement_worker.cloud import retry
from placement_worker.cloud.ports import ApiError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def after(attempt, exc=None, sleep=0.0):
    """Return the state of a retried call after a failed attempt."""
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number, state.upcoming_sleep = attempt, sleep
    state.outcome = tenacity.Future.construct(attempt, exc or ApiError('x'), exc is not None)
    return state


def test_time_budget_elapses_with_clock():
    """The remaining seconds of a budget decrease to 0 and not below."""
    clock = Clock()
    budget = retry.TimeBudget(10, clock)

    clock.now += 4
    assert budget.left_s() == 6
    clock.now += 10
    assert budget.left_s() == 0


@pytest.mark.parametrize(('attempt', 'due'), [(1, 0.5), (2, 0.8), (3, 1.28), (6, 5), (9, 5)])
def test_wait_growing_stays_near_due_time(attempt, due):
    """Waits grow by a constant factor up to the maximum, with jitter of at most 25 %."""
    wait = retry.wait_growing(0.5, 5, random.Random(1))

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
    assert retry.wait_retry_after(tenacity.wait_fixed(2))(after(1, exc)) == wait_s


@pytest.mark.parametrize(('sleep', 'stops'), [(9.9, False), (10, True), (11, True)])
def test_stop_before_budget_end_compares_next_attempt(sleep, stops):
    """Retries stop if the next attempt would start at the end of the budget or later."""
    stop = retry.stop_before_budget_end(retry.TimeBudget(10, Clock()))

    assert stop(after(1, sleep=sleep)) is stops


IMMUTABLE = 'Load Balancer lb1 is immutable and cannot be updated.'


@pytest.mark.parametrize(
    ('status', 'text', 'is_transient', 'has_unknown_outcome', 'may_have_taken_effect'),
    [
        (None, '', True, True, True),
        (429, '', True, False, False),
        (500, '', True, True, True),
        (501, '', False, False, False),
        (502, '', True, True, True),
        (503, '', True, False, False),
        (400, '', False, False, False),
        (404, '', False, False, False),
        (409, 'already exists', False, False, True),
        (409, IMMUTABLE, False, False, False),
    ],
)
def test_classification_of_error_follows_status(
    status, text, is_transient, has_unknown_outcome, may_have_taken_effect
):
    """Status and text decide whether to retry, and whether to check the state before."""
    error = ApiError(text, status)

    assert retry.is_transient(error) is is_transient
    assert retry.has_unknown_outcome(error) is has_unknown_outcome
    assert retry.may_have_taken_effect(error) is may_have_taken_effect
    assert retry.is_immutable(error) is (text == IMMUTABLE)
    assert retry.is_transient_or_immutable(error) is (is_transient or text == IMMUTABLE)


def test_classification_of_other_exception_is_not_transient():
    """Only errors of cloud services are retried."""
    assert not retry.is_transient(ValueError('x'))
    assert not retry.is_transient_or_immutable(ValueError('x'))


@pytest.mark.parametrize(
    ('status', 'text', 'is_unsupported'),
    [
        (501, '', True),
        (400, 'Unknown argument: tags', True),
        (400, 'Invalid input', False),
        (None, '', False),
    ],
)
def test_is_unsupported_recognizes_missing_features(status, text, is_unsupported):
    """Status 501 and unknown arguments stand for a feature that Octavia lacks."""
    assert retry.is_unsupported(ApiError(text, status)) is is_unsupported
