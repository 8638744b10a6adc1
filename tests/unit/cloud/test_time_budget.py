"""The time of an operation and of its calls."""

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
def test_until_in_nested_blocks_keeps_earlier_deadline(outer, inner, ends):
    """A nested block can shorten the deadline but not extend it."""
    with time_budget.until(outer):
        with time_budget.until(inner):
            assert time_budget.deadline() == ends
        assert time_budget.deadline() == outer
    assert time_budget.deadline() is None


def test_until_in_one_thread_does_not_affect_others():
    """Each thread has its own deadline."""
    seen = []
    with time_budget.until(110):
        thread = threading.Thread(target=lambda: seen.append(time_budget.deadline()))
        thread.start()
        thread.join()

    assert seen == [None]


def test_until_after_error_restores_deadline():
    """The deadline is restored if the block raises an error."""
    with pytest.raises(ValueError, match='x'), time_budget.until(110):
        raise ValueError('x')

    assert time_budget.deadline() is None


@pytest.mark.parametrize(
    ('ends', 'limit_s', 'left_s'), [(110, None, 10), (110, 5, 5), (110, 50, 10), (99, 5, -1)]
)
def test_left_s_is_bounded_by_deadline_and_limit(ends, limit_s, left_s):
    """The remaining time is the smaller one of deadline and limit."""
    with time_budget.until(ends):
        assert time_budget.left_s(limit_s) == left_s


def test_left_s_without_deadline_is_limit():
    """The limit applies alone if no deadline is set."""
    assert time_budget.left_s(5) == 5
    assert time_budget.left_s(None) is None


def test_time_budget_elapses_with_its_clock(clock):
    """The remaining seconds of a budget decrease to 0 and not below."""
    budget = TimeBudget(10, clock)

    clock.sleep(4)
    assert budget.left_s() == 6
    clock.sleep(10)
    assert budget.left_s() == 0


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
