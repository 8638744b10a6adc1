"""The deadline of cloud requests."""

import threading
import time

import pytest

from placement_worker.cloud import deadline


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that shows 100 s."""
    monkeypatch.setattr(time, 'monotonic', lambda: 100.0)


@pytest.mark.parametrize(('outer', 'inner', 'ends'), [(110, 105, 105), (105, 110, 105)])
def test_until_in_nested_blocks_keeps_earlier_deadline(outer, inner, ends):
    """A nested block can shorten the deadline but not extend it."""
    with deadline.until(outer):
        with deadline.until(inner):
            assert deadline.current() == ends
        assert deadline.current() == outer
    assert deadline.current() is None


def test_until_in_one_thread_does_not_affect_others():
    """Each thread has its own deadline."""
    seen = []
    with deadline.until(110):
        thread = threading.Thread(target=lambda: seen.append(deadline.current()))
        thread.start()
        thread.join()

    assert seen == [None]


def test_until_after_error_restores_deadline():
    """The deadline is restored if the block raises an error."""
    with pytest.raises(ValueError, match='x'), deadline.until(110):
        raise ValueError('x')

    assert deadline.current() is None


@pytest.mark.parametrize(
    ('ends', 'limit_s', 'left_s'), [(110, None, 10), (110, 5, 5), (110, 50, 10), (99, 5, -1)]
)
def test_left_s_is_bounded_by_deadline_and_limit(ends, limit_s, left_s):
    """The remaining time is the smaller one of deadline and limit."""
    with deadline.until(ends):
        assert deadline.left_s(limit_s) == left_s


def test_left_s_without_deadline_is_limit():
    """The limit applies alone if no deadline is set."""
    assert deadline.left_s(5) == 5
    assert deadline.left_s(None) is None
