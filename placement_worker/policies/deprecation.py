"""Warn of deprecated or unsupported policy types."""

from collections.abc import Mapping, Sequence

from placement_worker.contract.model import SupportStatus

DISCOURAGED = ('DEPRECATED', 'UNSUPPORTED')


def warning_of(type_name: str, statuses: Mapping[str, Sequence[SupportStatus]]) -> str | None:
    """Return a sentence about a type that should no longer be used, or None.

    :param type_name: with its version.
    :param statuses: version -> its statuses, the oldest first.
    """
    of_version = statuses.get(type_name.rpartition('-')[2])
    if not of_version or of_version[-1].status not in DISCOURAGED:
        return None
    latest = of_version[-1]
    return (
        f'Policy type {type_name} is {latest.status} since {latest.since}; use another version or '
        'another type'
    )
