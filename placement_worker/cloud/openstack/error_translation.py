"""Translation of the errors of HTTP libraries and services into `ApiError`.

Libraries raise dozens of exceptions, whose texts name Python objects and may contain URLs with
credentials. The message of an `ApiError` has the cause that an operator can act on, without them.
"""

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
from placement_worker.formats.text import shortened

_MAX_TEXT = 300  # characters that an error quotes from a service
# The exceptions of the libraries; they raise the last four for an unexpected response.
LIBRARY_ERRORS = (
    keystone.ClientException,
    requests.RequestException,
    msgspec.MsgspecError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


def translate(exc: BaseException, url: str | None) -> ApiError:
    """Return the error that an exception of a library stands for, with the status of a response."""
    where = origin(url)
    response = getattr(exc, 'response', None)
    if response is not None and response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        return from_response(response)
    causes = list(_causes(exc))

    def is_caused_by(*types: type[BaseException]) -> bool:
        return any(isinstance(cause, types) for cause in causes)

    if is_caused_by(requests.Timeout, keystone.ConnectTimeout, TimeoutError):
        return ApiError(f'{where} did not respond in time')
    if is_caused_by(keystone.SSLError):
        return ApiError(f'{where}: {_first_line(exc)}; check cafile and insecure')
    if is_caused_by(keystone.ConnectionError, requests.ConnectionError):
        # The messages of the libraries name Python objects, those of the operating system do not.
        texts = (cause.strerror for cause in causes if isinstance(cause, OSError))
        closed = 'the connection was closed without a response'
        return ApiError(f'{where}: {next((t for t in texts if isinstance(t, str)), closed)}')
    if isinstance(exc, keystone.ClientException) and not isinstance(exc, keystone.InvalidResponse):
        return ApiError(f'{where}: {_first_line(exc)}')
    return ApiError(f'{where} sent an invalid response: {_first_line(exc)}')


def from_response(response: requests.Response) -> ApiError:
    status = response.status_code
    phrase = response.reason or (HTTPStatus(status).phrase if status in list(HTTPStatus) else '')
    text = _message(response)
    line = f'HTTP {status} {phrase}'.rstrip()
    message = f'{line} from {origin(response.url)}' + (f': {text}' if text else '')
    return ApiError(message, status, _retry_after_s(response))


def origin(url: str | None) -> str:
    """Return scheme, host and port of a URL; the other parts may contain secrets."""
    if not url:
        return 'the service'
    parts = urlsplit(url)
    return f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}'


def _retry_after_s(response: requests.Response) -> float | None:
    value = response.headers.get('Retry-After', '').strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        sent = parsedate_to_datetime(response.headers.get('Date', ''))
        return max(0.0, (moment - sent).total_seconds())
    except (TypeError, ValueError):
        return None


def _message(response: requests.Response) -> str:
    if 'json' not in response.headers.get('Content-Type', ''):
        return ''
    try:
        body = json.loads(response.content)
    except ValueError:
        return ''
    return _one_line(next(_messages(body), ''))


def _messages(body: Any, depth: int = 0) -> Iterator[str]:
    """Yield the messages in a body; each service nests them in a different way."""
    if isinstance(body, dict):
        for key in ('message', 'faultstring', 'detail'):
            if isinstance(body.get(key), str) and body[key]:
                yield body[key]
    if isinstance(body, (dict, list)) and depth < 3:
        for value in body.values() if isinstance(body, dict) else body:
            yield from _messages(value, depth + 1)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    waiting, seen = [exc], set()
    while waiting:
        cause = waiting.pop(0)
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        nested = (cause.__cause__, cause.__context__, getattr(cause, 'reason', None), *cause.args)
        waiting += [value for value in nested if isinstance(value, BaseException)]


def _first_line(exc: BaseException) -> str:
    return _one_line(str(exc).partition('\n')[0])


def _one_line(text: str) -> str:
    return shortened(' '.join(text.split()).rstrip('.'), _MAX_TEXT)
