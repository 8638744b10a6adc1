"""Retries that cost nothing unless the first attempt fails."""

from collections.abc import Callable

import tenacity


def retried(
    attempt: Callable[[], None],
    causes: type[Exception] | tuple[type[Exception], ...],
    retrying: Callable[[], tenacity.Retrying],
) -> None:
    """Call a function, and let tenacity repeat it if it fails.

    tenacity takes 5 percent of the time of a small check, and nearly all first attempts succeed.

    :param causes: the errors after which tenacity decides; others are raised.
    :param retrying: returns the conditions; the first failure counts as an attempt.
    """
    try:
        attempt()
    except causes as exc:
        failures = [exc]
    else:
        return

    def again() -> None:
        if failures:
            raise failures.pop()
        attempt()

    retrying()(again)
