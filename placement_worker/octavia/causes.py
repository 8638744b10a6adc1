"""Texts for the errors of Octavia."""

from placement_worker.cloud.ports import ApiError

NOT_FOUND = 404


def cause(exc: Exception) -> str:
    """Return the cause of a failure in words."""
    if not isinstance(exc, ApiError):
        return str(exc)
    if not exc.status:
        return f'Octavia gives no answer: {exc}'
    return f'Octavia answers {exc.status}: {exc}'
