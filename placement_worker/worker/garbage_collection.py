"""The garbage collector of Python, tuned for requests that are trees.

Reference counting frees a tree without the collector.
"""

import ctypes
import gc
import threading
import time

FULL_EVERY = 50
"""The number of collections of the middle generation per full one.

With the default of 10, several full collections walk all objects of one large request while it is
in flight.
"""
RELEASE_AFTER_S = (2, 8, 50)
"""The pauses before each release of memory that follows a large body.

Most requests end before the first release. Requests that wait for a load balancer end before a
later one.
"""

_pauses: list[int] = []
"""The pauses that are left; a thread runs while there are any."""
_lock = threading.Lock()


def settle() -> None:
    """Exempt the present objects from collections, so that forks go on sharing their memory."""
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, FULL_EVERY)


def release_later() -> None:
    """Return the memory of a large body to the system, in a thread and after the reply.

    Python frees the memory, but the C library keeps many small blocks. While the thread of an
    earlier call runs, its pauses begin again.
    """
    with _lock:
        is_running = bool(_pauses)
        _pauses[:] = RELEASE_AFTER_S
    if not is_running:
        try:
            threading.Thread(target=_release, name='release-memory', daemon=True).start()
        except RuntimeError:  # no further thread can start; the next large body tries again
            _pauses.clear()


def _release() -> None:
    pauses_left = True
    while pauses_left:
        time.sleep(_pauses[0])
        gc.collect()
        trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)  # glibc has it, musl does not
        if trim:
            trim(0)
        with _lock:
            del _pauses[0]
            pauses_left = bool(_pauses)
