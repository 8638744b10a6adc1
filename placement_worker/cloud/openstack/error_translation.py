"""What went wrong when a service was asked, told in one way whichever library says it."""

import json
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import msgspec
import requests
from keystoneauth1 import exceptions as keystone

from placement_worker.cloud.ports import ApiError

LONGEST = 300
"""Of what a service says, the characters that are repeated."""
LIBRARY_ERRORS = (
    keystone.ClientException,
    requests.RequestException,
    msgspec.MsgspecError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""What the libraries raise; the last four where an answer is not what they expect."""


def translate(exc: BaseException, url: str | None) -> ApiError:
    """The fault that an exception tells of.

    :param url: of the service; only scheme, host and port are repeated.
    :returns: with the status of HTTP if there was an answer; without one if nobody knows what came
        of the call.
    """
    where = origin(url)
    answer = getattr(exc, 'response', None)
    if answer is not None and answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        return from_response(answer)
    causes = list(_causes(exc))
    if any(
        isinstance(cause, (requests.Timeout, keystone.ConnectTimeout, TimeoutError))
        for cause in causes
    ):
        return ApiError(f'{where} gave no answer in time')
    if any(isinstance(cause, keystone.SSLError) for cause in causes):
        return ApiError(f'{where}: {_first_line(exc)}; check cafile and insecure')
    if any(
        isinstance(cause, (keystone.ConnectionError, requests.ConnectionError)) for cause in causes
    ):
        return ApiError(f'{where}: {_broken(causes)}')
    if isinstance(exc, keystone.ClientException) and not isinstance(exc, keystone.InvalidResponse):
        return ApiError(f'{where}: {_first_line(exc)}')
    return ApiError(f'{where} answered what makes no sense: {_first_line(exc)}')


def from_response(answer: requests.Response) -> ApiError:
    """The fault that an answer with a status of 300 and more tells of, in the service's own
    words.
    """
    status = answer.status_code
    phrase = answer.reason or (HTTPStatus(status).phrase if status in list(HTTPStatus) else '')
    said = _said(answer)
    message = (
        f'HTTP {status} {phrase}'.rstrip()
        + f' from {origin(answer.url)}'
        + (f': {said}' if said else '')
    )
    return ApiError(message, status, _retry_after_s(answer))


def origin(url: str | None) -> str:
    """Scheme, host and port of a URL: what helps, and holds no secret."""
    if not url:
        return 'the service'
    parts = urlsplit(url)
    return f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}'


def _retry_after_s(answer: requests.Response) -> float | None:
    """How long the service asks to wait; it may say seconds or a date."""
    value = answer.headers.get('Retry-After', '').strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment, sent = (
            parsedate_to_datetime(value),
            parsedate_to_datetime(answer.headers.get('Date', '')),
        )
        return max(0.0, (moment - sent).total_seconds())
    except (TypeError, ValueError):
        return None


def _said(answer: requests.Response) -> str:
    """The message in an error's body; each service wraps it in another way."""
    if 'json' not in answer.headers.get('Content-Type', ''):
        return ''
    try:
        body = json.loads(answer.content)
    except ValueError:
        return ''
    return _shortened(next(_messages(body), ''))


def _messages(body: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(body, dict):
        for key in ('message', 'faultstring', 'detail'):
            if isinstance(body.get(key), str) and body[key]:
                yield body[key]
    if isinstance(body, (dict, list)) and depth < 3:
        for value in body.values() if isinstance(body, dict) else body:
            yield from _messages(value, depth + 1)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """The exception and whatever led to it, outermost first."""
    waiting, seen = [exc], set()
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        led = (cause.__cause__, cause.__context__, getattr(cause, 'reason', None), *cause.args)
        waiting += [one for one in led if isinstance(one, BaseException)]


def _broken(causes: list[BaseException]) -> str:
    """In the words of the system, which name no Python object."""
    return next(
        (
            cause.strerror
            for cause in causes
            if isinstance(cause, OSError) and isinstance(cause.strerror, str)
        ),
        'the connection was closed without an answer',
    )


def _first_line(exc: BaseException) -> str:
    return _shortened(str(exc).partition('\n')[0])


def _shortened(text: str) -> str:
    text = ' '.join(text.split()).rstrip('.')
    return text if len(text) <= LONGEST else text[:LONGEST] + '...'
