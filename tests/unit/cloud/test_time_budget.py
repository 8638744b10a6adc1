"""The time of an operation and of its calls, and the errors after which a call is retried."""

import threading
import time

import pytest
import tenacity

from placement_worker.cloud import time_budget
from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.time_budget import BoundedCalls, CallStatistics, TimeBudget
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
            thread = threading.Thread(target=lambda: seen.append(time_budget.left_s(None)))
            thread.start()
            thread.join()
            seen.append(time_budget.left_s(None))
            raise ValueError('x')

    with time_budget.until(outer):
        with pytest.raises(ValueError, match='x'):
            fail()
        seen.append(time_budget.left_s(None))

    assert seen == [None, ends - 100, outer - 100]
    assert time_budget.left_s(None) is None


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


class Calls:
    """Calls with three attempts, and delays of 3 s."""

    def __init__(self, clock, budget_s=40):
        self.statistics = CallStatistics()
        self.retries = 0
        self.bounded = BoundedCalls(
            TimeBudget(budget_s, clock),
            self.statistics,
            max_attempts=3,
            wait=tenacity.wait_fixed(3),
            sleep=clock.sleep,
            on_retry=self.count_retry,
        )

    def count_retry(self):
        self.retries += 1


def failing(*errors):
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
    assert bounded.once(time_budget.left_s, None) == 30
    clock.sleep(300)
    assert bounded.once(time_budget.left_s, None) == 5
    assert time_budget.left_s(None) is None


def test_read_after_transient_errors_returns_result(clock):
    """A call that fails with transient errors is made again, and each attempt is counted."""
    calls = Calls(clock)

    assert calls.bounded.read(failing(ApiError('busy', 503), ApiError('?')), 'x') == 'x'

    assert (calls.retries, clock.slept) == (2, [3, 3])
    assert calls.statistics == CallStatistics(calls=3, waited_s=6)


@pytest.mark.parametrize(
    ('status', 'budget_s', 'attempts'), [(503, 40, 3), (403, 40, 1), (503, 3, 1), (503, 3.1, 2)]
)
def test_read_with_lasting_error_raises_it(clock, status, budget_s, attempts):
    """A call is made at most `max_attempts` times, once if its error is not transient, and not
    again at the end of the budget or later.
    """
    calls = Calls(clock, budget_s)

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
