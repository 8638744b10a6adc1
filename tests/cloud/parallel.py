"""Calls in parallel: Senlin and Nova wait for each other for most of their time."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')


def at_once(functions: Iterable[Callable[[], T]]) -> list[T]:
    """Call functions in parallel and return their results in order."""
    with ThreadPoolExecutor() as pool:
        return [future.result() for future in [pool.submit(one) for one in functions]]
