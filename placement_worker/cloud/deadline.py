"""The moment that the requests of a thread to cloud services have to end by."""

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import overload

_deadline: ContextVar[float | None] = ContextVar('deadline', default=None)


@contextlib.contextmanager
def until(ends: float) -> Iterator[None]:
    """Let every request of this thread end by then, or by an earlier moment if that is set already.

    :param ends: of `time.monotonic`, in seconds.
    """
    before = _deadline.get()
    token = _deadline.set(ends if before is None else min(ends, before))
    try:
        yield
    finally:
        _deadline.reset(token)


def current() -> float | None:
    """The moment that this thread's requests have to end by; None if there is none."""
    return _deadline.get()


@overload
def left_s(limit_s: float) -> float: ...


@overload
def left_s(limit_s: float | None) -> float | None: ...


def left_s(limit_s: float | None) -> float | None:
    """What is left until the deadline, in seconds, but no more than a limit; None if neither is
    set.
    """
    ends = current()
    if ends is None:
        return limit_s
    left = ends - time.monotonic()
    return left if limit_s is None else min(left, limit_s)
