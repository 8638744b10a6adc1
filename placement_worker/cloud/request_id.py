"""The request id that cloud services write to their logs.

The id links the log lines of the services with the request that caused them. Services accept
`req-` followed by a UUID and ignore any other form.

:source: request_id.py of oslo.middleware.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FORM = re.compile('req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_current: ContextVar[str | None] = ContextVar('request_id', default=None)


@contextmanager
def bound_request_id(request_id: str | None) -> Iterator[None]:
    """Send this id with each cloud request of this thread inside the block."""
    token = _current.set(request_id if request_id and _FORM.fullmatch(request_id) else None)
    try:
        yield
    finally:
        _current.reset(token)


def current_request_id() -> str | None:
    """Return the id to send, or None if no id of the accepted form is bound."""
    return _current.get()
