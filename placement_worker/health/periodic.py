"""Functions that run at intervals in a thread."""

import threading
from collections.abc import Callable

STOP_TIMEOUT_S = 1


def repeat(function: Callable[[], object], interval_s: float) -> Callable[[], None]:
    """Call a function after each interval in a daemon thread; return a function that stops it."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.wait(interval_s):
            function()

    thread = threading.Thread(target=run, name='periodic', daemon=True)
    thread.start()

    def stop() -> None:
        stopped.set()
        thread.join(interval_s + STOP_TIMEOUT_S)

    return stop
