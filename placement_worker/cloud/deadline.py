"""The deadline of the cloud requests that the current thread sends."""

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import overload

_deadline: ContextVar[float | None] = ContextVar('deadline', default=None)


@contextlib.contextmanager
def until(ends: float) -> Iterator[None]:
    """Set the deadline inside the block; an earlier deadline that is already set remains.

    :param ends: a time of `time.monotonic`, in seconds.
    """
    before = _deadline.get()
    token = _deadline.set(ends if before is None else min(ends, before))
    try:
        yield
    finally:
        _deadline.reset(token)


def current() -> float | None:
    """Return the deadline of this thread as a time of `time.monotonic`, or None."""
    return _deadline.get()


@overload
def left_s(limit_s: float) -> float: ...


@overload
def left_s(limit_s: float | None) -> float | None: ...


def left_s(limit_s: float | None) -> float | None:
    """Return the seconds until the deadline, at most `limit_s`; None if neither is set."""
    ends = current()
    if ends is None:
        return limit_s
    left = ends - time.monotonic()
    return left if limit_s is None else min(left, limit_s)
