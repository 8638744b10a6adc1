"""Calls in parallel: Senlin and Nova wait for each other for most of their time."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')


def at_once(functions: Iterable[Callable[[], T]]) -> list[T]:
    """Call functions, each in a thread of its own, and return their results in order."""
    calls = list(functions)
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))
