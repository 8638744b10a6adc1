"""A WSGI layer that records the requests of a service and lets tests control it."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

PREFIX = '/harness/'


class Counting:
    """An application that records requests and accepts controls.

    A control is POST /harness/NAME with its arguments in JSON.
    """

    def __init__(
        self,
        application: Callable[..., Iterable[bytes]],
        controls: Mapping[str, Callable[..., Any]],
    ) -> None:
        self._application = application
        self._controls = {**controls, 'requests': self._since}
        self._requests: list[tuple[str, str, str]] = []

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if path.startswith(PREFIX):
            return self._control(path.removeprefix(PREFIX), environ, start_response)
        query = environ.get('QUERY_STRING')
        target = f'{path}?{query}' if query else path
        self._requests.append(
            (environ['REQUEST_METHOD'], target, environ.get('HTTP_USER_AGENT', ''))
        )
        return self._application(environ, start_response)

    def _control(
        self, name: str, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        arguments = json.loads(environ['wsgi.input'].read(int(environ['CONTENT_LENGTH'])))
        response = json.dumps(self._controls[name](**arguments)).encode()
        start_response(
            '200 OK', [('Content-Type', 'application/json'), ('Content-Length', str(len(response)))]
        )
        return [response]

    def _since(self, first: int) -> list[tuple[str, str, str]]:
        return self._requests[first:]
