"""The deadline of a thread, and the time of an operation."""

import math
import threading
import time

import pytest

from placement_worker.cloud import time_budget
from placement_worker.cloud.time_budget import TimeBudget
from tests.simulated_octavia import Clock


@pytest.fixture(autouse=True)
def _fixed_monotonic_clock(monkeypatch):
    """The clock of deadlines shows 100 s."""
    monkeypatch.setattr(time, 'monotonic', lambda: 100.0)


@pytest.mark.parametrize(('outer', 'inner', 'ends'), [(110, 105, 105), (105, 110, 105)])
def test_deadline_in_nested_blocks_of_a_thread_is_the_earlier_one(outer, inner, ends):
    """A nested block can shorten the deadline; it is restored afterwards, even by an error."""
    seen = []

    def fail():
        with time_budget.until(inner):
            thread = threading.Thread(target=lambda: seen.append(time_budget.left_s()))
            thread.start()
            thread.join()
            seen.append(time_budget.left_s())
            raise ValueError('x')

    with time_budget.until(outer):
        with pytest.raises(ValueError, match='x'):
            fail()
        seen.append(time_budget.left_s())

    assert seen == [math.inf, ends - 100, outer - 100]
    assert time_budget.left_s() == math.inf


@pytest.mark.parametrize(
    ('ends', 'limit_s', 'left_s'), [(110, math.inf, 10), (110, 5, 5), (110, 50, 10), (99, 5, -1)]
)
def test_left_s_is_bounded_by_deadline_and_limit(ends, limit_s, left_s):
    """The remaining time is the smaller one of deadline and limit."""
    with time_budget.until(ends):
        assert time_budget.left_s(limit_s) == left_s


@pytest.mark.parametrize(('expires_in_s', 'seconds'), [(20, 10), (4, 4), (-1, 0)])
def test_time_budget_ends_with_its_request(expires_in_s, seconds):
    """A request that expires earlier than the limit shortens the budget."""
    budget = TimeBudget(10, Clock(), lambda: expires_in_s)

    assert (budget.seconds, budget.left_s()) == (seconds, seconds)
