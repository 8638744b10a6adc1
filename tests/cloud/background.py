"""Calls in threads while tests run, among them the tests that need only the cloud."""

import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import pytest

THREADS = 3
T = TypeVar('T')
# The parts of the test run in the order in which they end; see `part_of`.
OTHERS, EARLY, LATER, ALONE = range(4)


def at_once(functions: Iterable[Callable[[], T]]) -> list[T]:
    """Call functions, each in a thread of its own, and return their results in order."""
    calls = list(functions)
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


class BackgroundCalls:
    """Calls that change nothing that others need.

    Senlin and Nova sleep between their looks at a change, so that tests that run one after the
    other leave much of the processors' time unused.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, 'background')
        self._begun: dict[str, Future[Any]] = {}

    def begin(self, name: str, call: Callable[[], Any]) -> None:
        self._begun[name] = self._pool.submit(call)

    def has(self, name: str) -> bool:
        """Return whether a call has begun, or waits for a thread."""
        return name in self._begun

    def result(self, name: str) -> Any:
        """Return the result of a call, or raise what it has raised, when it has ended."""
        return self._begun[name].result()

    def wait(self) -> None:
        wait(self._begun.values())

    def cancel(self) -> None:
        """Begin no more calls, after a failure that ends the test run."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def part_of(item: pytest.Item) -> int:
    """Return the part of the test run to which a test belongs.

    Tests that need only the cloud begin when it has started, at once and beside the others. Those
    with the marker `later` begin when these have ended, also at once. Tests with the marker `alone`
    begin when all calls have ended, one after the other.
    """
    if item.get_closest_marker('alone'):
        return ALONE
    if item.get_closest_marker('later'):
        return LATER
    return EARLY if list(inspect.signature(item.obj).parameters) == ['cloud'] else OTHERS
