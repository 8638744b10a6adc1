"""The threads that send requests: reuse, timeouts and errors."""

import contextvars
import threading
import time

import pytest

from placement_worker.client import sending_threads
from placement_worker.client.sending_threads import SendingThreads
from placement_worker.errors import BrokerUnreachable
from tests.waiting import wait_for

SOON_S, ENOUGH_S = 0.05, 30
CALLER = contextvars.ContextVar('CALLER')


@pytest.fixture
def threads():
    return SendingThreads()


def test_successive_requests_use_the_same_thread_with_the_context_of_their_caller(threads):
    """A request starts no thread if one is idle, and its spans belong to the caller."""

    def ran():
        return threading.current_thread(), CALLER.get()

    found = []
    for caller in ('one', 'other'):
        CALLER.set(caller)
        found.append(threads.run(ran, ENOUGH_S))

    (first, one), (second, other) = found
    assert first is second
    assert (one, other) == ('one', 'other')


def test_requests_at_the_same_time_use_different_threads(threads):
    """A request does not wait for another one."""
    meeting = threading.Barrier(2)

    def meet():
        return meeting.wait(ENOUGH_S)

    other = threading.Thread(target=threads.run, args=(meet, ENOUGH_S))
    other.start()

    assert threads.run(meet, ENOUGH_S) in (0, 1)
    other.join()


@pytest.mark.parametrize('error', [ValueError('wrong'), TimeoutError('slow'), SystemExit(1)])
def test_error_of_a_request_reaches_its_caller_and_the_thread_continues(threads, error):
    """A timeout of oslo.messaging is not taken for that of the caller."""

    def fail():
        raise error

    with pytest.raises(type(error)) as raised:
        threads.run(fail, ENOUGH_S)

    assert raised.value is error
    assert threads.run(lambda: 'next', ENOUGH_S) == 'next'


def test_request_without_a_confirmation_ends_and_later_ones_fail_until_it_comes(threads):
    """A broker that blocks publishers delays one request; later ones name the cause at once."""
    confirmed = threading.Event()

    with pytest.raises(BrokerUnreachable, match='it blocks publishers while'):
        threads.run(confirmed.wait, SOON_S)
    began = time.monotonic()
    with pytest.raises(BrokerUnreachable, match='it blocks publishers while'):
        threads.run(lambda: None, ENOUGH_S)
    assert time.monotonic() - began < ENOUGH_S

    confirmed.set()
    wait_for(lambda: _is_free(threads))


def _is_free(threads):
    try:
        return threads.run(lambda: True, ENOUGH_S)
    except BrokerUnreachable:
        return False


def test_idle_thread_ends_and_the_next_request_starts_one(threads, monkeypatch):
    """Threads of a burst, or of a closed client, do not stay."""
    monkeypatch.setattr(sending_threads, 'IDLE_S', SOON_S)
    thread = threads.run(threading.current_thread, ENOUGH_S)

    thread.join(ENOUGH_S)

    assert not thread.is_alive()
    assert threads.run(threading.current_thread, ENOUGH_S) is not thread


def test_dead_idle_thread_is_replaced(threads):
    """A child process has no threads of its parent, and starts its own."""
    dead = threading.Thread(target=int)
    dead.start()
    dead.join()
    threads._idle.append(dead)

    assert threads.run(threading.current_thread, ENOUGH_S) is not dead
