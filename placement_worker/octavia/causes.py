"""Texts for the errors of Octavia."""

from placement_worker.cloud.ports import ApiError

NOT_FOUND = 404


def cause(exc: Exception) -> str:
    """Return the cause of a failure in words."""
    if not isinstance(exc, ApiError):
        return str(exc)
    if not exc.status:
        return f'Octavia did not respond: {exc}'
    return f'Octavia responded with status {exc.status}: {exc}'
