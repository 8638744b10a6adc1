"""A function that repeats."""

import threading
import time

from placement_worker.health import periodic


def test_repeat_calls_the_function_again_until_it_is_stopped():
    """No call follows the return of the stop function."""
    calls = []
    third = threading.Event()

    def call():
        calls.append(1)
        if len(calls) >= 3:
            third.set()

    stop = periodic.repeat(call, 0.01)
    assert third.wait(10)
    stop()
    stopped_at = len(calls)
    time.sleep(0.05)

    assert len(calls) == stopped_at


def test_repeat_does_not_keep_the_process_alive():
    """The thread is a daemon, so a process that ends does not wait for it."""
    stop = periodic.repeat(lambda: None, 10)

    threads = [thread for thread in threading.enumerate() if thread.name == 'periodic']
    assert all(thread.daemon for thread in threads)
    stop()
