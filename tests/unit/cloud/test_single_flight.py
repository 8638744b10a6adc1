"""Calls that threads share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.single_flight import SingleFlight
from placement_worker.errors import OutOfTime
from tests.simulated_octavia import Clock

WAIT_S = 60


def never():
    raise AssertionError('repeated')


def fail():
    raise TimeoutError('too late')


def test_do_during_slow_call_stops_waiting_in_time():
    """A thread waits at most `wait_s` for the call of another thread, which goes on."""
    single_flight, begun, opened = SingleFlight(), threading.Event(), threading.Event()

    def ask():
        begun.set()
        assert opened.wait(WAIT_S)
        return 'result'

    with ThreadPoolExecutor() as threads:
        leader = threads.submit(single_flight.do, 'key', ask, wait_s=WAIT_S)
        assert begun.wait(WAIT_S)
        with pytest.raises(OutOfTime, match='No response within 0 s to a lookup shared'):
            single_flight.do('key', never, wait_s=0.05)
        opened.set()

        assert leader.result(WAIT_S) == 'result'


def test_do_after_call_out_of_time_makes_call_again():
    """A thread with time left makes the call again if the shared call ran out of time."""
    single_flight, begun, opened = SingleFlight(), threading.Event(), threading.Event()

    def fail():
        begun.set()
        assert opened.wait(WAIT_S)
        raise OutOfTime('too late')

    with ThreadPoolExecutor() as threads:
        leader = threads.submit(single_flight.do, 'key', fail, wait_s=WAIT_S)
        assert begun.wait(WAIT_S)
        threading.Timer(0.2, opened.set).start()

        assert single_flight.do('key', lambda: 'repeated', wait_s=WAIT_S) == 'repeated'
        with pytest.raises(OutOfTime, match='too late'):
            leader.result(WAIT_S)


def test_do_within_cache_time_returns_cached_result():
    """A result is returned without a call until its cache time has passed."""
    clock = Clock()
    single_flight = SingleFlight(clock)
    assert single_flight.do('key', lambda: 1, wait_s=0, cache_s=10) == 1

    clock.sleep(9.9)
    assert single_flight.do('key', never, wait_s=0, cache_s=10) == 1
    clock.sleep(0.2)
    assert single_flight.do('key', lambda: 2, wait_s=0, cache_s=10) == 2


@pytest.mark.parametrize('cache_s', [0, 10])
def test_do_with_failing_call_caches_no_error(cache_s):
    """The caller receives the error of the call, and the next caller makes the call again."""
    single_flight = SingleFlight()

    with pytest.raises(TimeoutError, match='too late'):
        single_flight.do('key', fail, wait_s=0, cache_s=cache_s)

    assert single_flight.do('key', lambda: 1, wait_s=0) == 1


def test_cache_drops_expired_results():
    """The cache drops results whose cache time has passed."""
    clock = Clock()
    single_flight = SingleFlight(clock)
    for number in range(1000):
        clock.sleep(1)
        single_flight.do(number, lambda: 'x', wait_s=0, cache_s=5)

    assert len(single_flight._cache) <= 6
