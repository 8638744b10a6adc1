"""A cloud that cannot be reached."""

from typing import NoReturn

from placement_worker.errors import CloudUnavailable


class Unreachable:
    """Stand for a `Cloud` until it is needed: every question raises why it was not reached.

    Most policies can be attached and detached without the cloud.
    """

    def __init__(self, cause: CloudUnavailable) -> None:
        self._cause = cause

    def __getattr__(self, name: str) -> NoReturn:
        raise self._cause
