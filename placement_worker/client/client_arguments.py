"""The arguments of a client."""

import re

from placement_worker import errors

MAX_TIMEOUT_S = 10**9  # the time at which a request expires must be a date

_VERSION = re.compile(r'[0-9]{1,9}\.[0-9]{1,9}')


def check_timeout(name: str, value: float) -> None:
    """Check a timeout of the client; a broker would seem unreachable with a timeout of 0.

    :raises ConfigurationError: it is no number of seconds, or out of range.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 < value <= MAX_TIMEOUT_S):
        raise errors.ConfigurationError(
            f'{name}: expected a number of seconds above 0, at most {MAX_TIMEOUT_S}, got {value!r}'
        )


def check_version_cap(cap: object) -> None:
    """Check the highest version; oslo.messaging would fail at the first request.

    :raises ConfigurationError: it is no version.
    """
    if cap is not None and not (isinstance(cap, str) and _VERSION.fullmatch(cap)):
        raise errors.ConfigurationError(
            f'version_cap: expected a version of the contract such as "1.1", got {cap!r}'
        )
