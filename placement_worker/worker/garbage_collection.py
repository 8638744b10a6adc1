"""Python's garbage collector, set for a service whose requests are trees, which are freed without
it.
"""

import ctypes
import gc
import threading
import time

FULL_EVERY = 50
"""How many collections of middle-aged objects make a full one; Python's 10 make several while a
large request is in work, each of which walks all of it."""
RELEASE_AFTER_S = (2, 8, 50)
"""How long after a large body, and then after the time before, memory is released: most requests
are done by the first time, those that wait for a load balancer by a later one."""

_releasing = threading.Lock()


def settle() -> None:
    """Before serving: what is there now is walked no more, and shared with processes until somebody
    writes to it.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL_EVERY)


def release_later() -> None:
    """Give memory that a large body has left back to the system, in a thread of its own and outside
    of all replies.

    Python frees it, but the C library keeps what it has taken in many small pieces. While one
    thread is about to release, another one is not started.
    """
    if _releasing.acquire(blocking=False):
        threading.Thread(target=_release, name='release-memory', daemon=True).start()


def _release() -> None:
    try:
        for pause_s in RELEASE_AFTER_S:
            time.sleep(pause_s)
            gc.collect()
            trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)  # glibc has it, musl has not
            if trim:
                trim(0)
    finally:
        _releasing.release()
