"""The action and the cluster of a message, for lines of the log outside its handling."""

from collections.abc import Mapping
from typing import Any

from placement_worker.handlers import request_subject


def of_message(message: Mapping[str, Any]) -> str:
    """Return what a message is about as the beginning of a line; empty if it does not say so.

    The largest size of a message bounds the request (`received_size_limit`).
    """
    arguments = message.get('args')
    request = arguments.get('request') if isinstance(arguments, dict) else None
    return request_subject.of_request(request)
