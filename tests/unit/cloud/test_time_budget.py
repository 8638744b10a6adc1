"""The time of an operation and of its calls, and the errors after which a call is retried."""

import random
import threading
import time
from types import SimpleNamespace

import pytest
import tenacity

from placement_worker.cloud import time_budget
from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.time_budget import BoundedCalls, CallStatistics, TimeBudget
from placement_worker.errors import RequestExpired
from tests.simulated_octavia import Clock


@pytest.fixture(autouse=True)
def _fixed_monotonic_clock(monkeypatch):
    """The clock of deadlines shows 100 s."""
    monkeypatch.setattr(time, 'monotonic', lambda: 100.0)


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.parametrize(('outer', 'inner', 'ends'), [(110, 105, 105), (105, 110, 105)])
def test_deadline_in_nested_blocks_of_a_thread_is_the_earlier_one(outer, inner, ends):
    """A nested block can shorten the deadline; it is restored afterwards, even by an error."""
    seen = []

    def fail():
        with time_budget.until(inner):
            thread = threading.Thread(target=lambda: seen.append(time_budget.deadline()))
            thread.start()
            thread.join()
            seen.append(time_budget.deadline())
            raise ValueError('x')

    with time_budget.until(outer):
        with pytest.raises(ValueError, match='x'):
            fail()
        seen.append(time_budget.deadline())

    assert seen == [None, ends, outer]
    assert time_budget.deadline() is None


@pytest.mark.parametrize(
    ('ends', 'limit_s', 'left_s'), [(110, None, 10), (110, 5, 5), (110, 50, 10), (99, 5, -1)]
)
def test_left_s_is_bounded_by_deadline_and_limit(ends, limit_s, left_s):
    """The remaining time is the smaller one of deadline and limit."""
    with time_budget.until(ends):
        assert time_budget.left_s(limit_s) == left_s


@pytest.mark.parametrize(('expires_in_s', 'seconds'), [(20, 10), (4, 4), (-1, 0)])
def test_time_budget_ends_with_its_request(clock, expires_in_s, seconds):
    """A request that expires earlier than the limit shortens the budget."""
    budget = TimeBudget(10, clock, lambda: expires_in_s)

    assert (budget.seconds, budget.left_s()) == (seconds, seconds)


def test_check_expiry_after_expiry_fails_unless_it_is_ignored(clock):
    """An expired request is an error, except for a budget without expiry, which starts again."""
    budget = TimeBudget(10, clock, lambda: 0)

    with pytest.raises(RequestExpired, match=r'^Request expired$'):
        budget.check_expiry()
    cleanup = budget.without_expiry()
    cleanup.check_expiry()
    assert cleanup.left_s() == 10


@pytest.mark.parametrize(('sleep_s', 'stops'), [(9.9, False), (10, True), (11, True)])
def test_stop_before_budget_end_compares_next_attempt(clock, sleep_s, stops):
    """Retries stop if the next attempt would start at the end of the budget or later."""
    stop = time_budget.stop_before_budget_end(TimeBudget(10, clock))

    assert stop(SimpleNamespace(upcoming_sleep=sleep_s)) is stops


class Calls:
    """Calls with a budget of 40 s, three attempts, and delays of 3 s."""

    def __init__(self, clock):
        self.statistics = CallStatistics()
        self.retries = 0
        self.bounded = BoundedCalls(
            TimeBudget(40, clock),
            self.statistics,
            max_attempts=3,
            wait=tenacity.wait_fixed(3),
            sleep=clock.sleep,
            on_retry=self.count_retry,
        )

    def count_retry(self):
        self.retries += 1


def failing(*errors):
    """Return a function that raises errors, and then returns its argument."""
    remaining = list(errors)

    def call(value):
        if remaining:
            raise remaining.pop(0)
        return value

    return call


def test_once_sets_deadline_to_budget_end_or_to_five_seconds(clock):
    """A call must end within the budget; after the budget it has five seconds."""
    bounded = Calls(clock).bounded

    clock.sleep(10)
    assert bounded.once(time_budget.deadline) == 100 + 30
    clock.sleep(300)
    assert bounded.once(time_budget.deadline) == 100 + 5
    assert time_budget.deadline() is None


def test_read_after_transient_errors_returns_result(clock):
    """A call that fails with transient errors is made again, and each attempt is counted."""
    calls = Calls(clock)

    assert calls.bounded.read(failing(ApiError('busy', 503), ApiError('?')), 'x') == 'x'

    assert (calls.retries, clock.slept) == (2, [3, 3])
    assert calls.statistics == CallStatistics(calls=3, waited_s=6)


@pytest.mark.parametrize(('status', 'attempts'), [(503, 3), (403, 1)])
def test_read_with_lasting_error_raises_it(clock, status, attempts):
    """A call is made at most `max_attempts` times, and once if its error is not transient."""
    calls = Calls(clock)

    with pytest.raises(ApiError, match='last'):
        calls.bounded.read(failing(*[ApiError('last', status)] * 9), 'x')

    assert calls.statistics.calls == attempts


def test_wait_until_later_moment_ends_with_the_budget(clock):
    """A wait lasts until the moment, but not beyond the budget, and never goes back."""
    bounded = Calls(clock).bounded
    began = clock()

    bounded.wait_until(began + 2)
    bounded.wait_until(began)
    bounded.wait_until(began + 100)

    assert clock.slept == [2, 0, 38]


def after(attempt, exc=None):
    """Return the state of a retried call after a failed attempt."""
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = attempt
    state.outcome = tenacity.Future.construct(attempt, exc or ApiError('x'), exc is not None)
    return state


@pytest.mark.parametrize(('attempt', 'due'), [(1, 0.5), (2, 0.8), (3, 1.28), (6, 5), (9, 5)])
def test_wait_growing_stays_near_due_time(attempt, due):
    """Waits grow by a constant factor up to the maximum, with jitter of at most 25 %."""
    wait = time_budget.wait_growing(0.5, 5, random.Random(1))

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
    assert time_budget.wait_retry_after(tenacity.wait_fixed(2))(after(1, exc)) == wait_s
