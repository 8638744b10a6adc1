"""The id that joins what services of the cloud log with the request that they are asked for.

They take an id of the form `req-` and a UUID, and drop any other one.

:source: oslo.middleware, request_id.py.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FORM = re.compile('req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_current: ContextVar[str | None] = ContextVar('request_id', default=None)


@contextmanager
def bound_request_id(request_id: str | None) -> Iterator[None]:
    """Send this id with every request that this thread makes meanwhile."""
    token = _current.set(request_id if request_id and _FORM.fullmatch(request_id) else None)
    try:
        yield
    finally:
        _current.reset(token)


def current_request_id() -> str | None:
    """The id to send; None if there is none of the form that services take."""
    return _current.get()
