"""The model of waiting requests, against known values."""

import pytest

from benchmarks.capacity import Queue


@pytest.mark.parametrize('use', [0.1, 0.5, 0.9])
def test_share_of_delayed_requests_for_one_and_two_servers_has_a_closed_form(use):
    """Erlang C is u for one server and 2u²/(1 + u) for two, where u is the use of a server."""
    assert Queue(use, 1.0).delayed == pytest.approx(use)
    assert Queue(2 * use, 1.0, servers=2).delayed == pytest.approx(2 * use**2 / (1 + use))


@pytest.mark.parametrize(
    ('load', 'servers', 'delayed'),
    [(2, 3, 4 / 9), (8, 10, 0.409), (20, 30, 0.025), (2000, 3000, 0.0)],
)
def test_share_of_delayed_requests_for_more_servers_is_that_of_tables(load, servers, delayed):
    """Erlang C agrees with published tables, also for thousands of servers."""
    assert Queue(load, 1.0, servers).delayed == pytest.approx(delayed, abs=0.0005)


def test_mean_wait_of_three_servers_is_that_of_the_textbook():
    """The eye clinic of Gross and Harris: 6 per hour, 20 minutes and 3 doctors: 8/9 wait."""
    clinic = Queue(6 / 3600, 20 * 60, servers=3)

    assert clinic.waiting == pytest.approx(8 / 9)
    assert clinic.wait_s == pytest.approx(8 / 9 * 600)


def test_longest_wait_of_the_share_that_never_waits_is_zero():
    """While half of the requests find a free server, the median of the waits is zero."""
    queue = Queue(0.5, 1.0)

    assert queue.longest_wait_s(0.5) == 0
    assert queue.longest_wait_s(0.95) == pytest.approx(2 * 2.302585)  # ln(0.5 / 0.05) = ln 10


def test_queue_without_enough_servers_is_refused():
    """A queue that grows without a bound has no mean."""
    with pytest.raises(ValueError, match=r'^2 servers cannot carry 2\.00 Erlang$'):
        Queue(4, 0.5, servers=2)
