"""The errors of Octavia's API: their meaning for a change, and their texts.

:source: https://docs.openstack.org/api-ref/load-balancer/v2/ for the status codes.
"""

from placement_worker.cloud.ports import ApiError
from placement_worker.cloud.transient_errors import has_unknown_outcome, is_transient

BAD_REQUEST, NOT_FOUND, CONFLICT, NOT_IMPLEMENTED = 400, 404, 409, 501


def is_immutable(exc: BaseException) -> bool:
    """Return whether the load balancer rejects changes: it is PENDING or in ERROR."""
    return (
        isinstance(exc, ApiError)
        and exc.status == CONFLICT
        and any(words in str(exc).lower() for words in ('immutable', 'invalid state'))
    )


def is_transient_or_immutable(exc: BaseException) -> bool:
    """Return whether another attempt may succeed after pending changes have finished."""
    return is_transient(exc) or is_immutable(exc)


def may_have_taken_effect(exc: ApiError) -> bool:
    """Return whether this call or an earlier attempt may have made the change.

    If so, check the state of the object before the next attempt.
    """
    return has_unknown_outcome(exc) or (exc.status == CONFLICT and not is_immutable(exc))


def is_unsupported(exc: ApiError) -> bool:
    """Return whether the provider or the API version lacks a requested feature."""
    return exc.status == NOT_IMPLEMENTED or (
        exc.status == BAD_REQUEST and 'unknown argument' in str(exc).lower()
    )


def cause(exc: Exception) -> str:
    """Return the cause of a failure in words."""
    if not isinstance(exc, ApiError):
        return str(exc)
    if not exc.status:
        return f'Octavia did not respond: {exc}'
    return f'Octavia responded with status {exc.status}: {exc}'
