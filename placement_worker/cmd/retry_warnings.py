"""Reasons not to retry a parked request, for `placement-policy parked retry`."""

import datetime
from collections.abc import Iterator
from typing import Any

from placement_worker.contract import rpc
from placement_worker.contract.model import in_utc

BINDINGS = (rpc.POLICY_ATTACH.name, rpc.POLICY_DETACH.name)


def of(method: object, request: object, now: datetime.datetime) -> Iterator[str]:
    """Yield a sentence per reason.

    :param request: the data of the request; values that are malformed count as absent.
    :param now: the current time, with its time zone.
    """
    asked: dict[str, Any] = request if isinstance(request, dict) else {}
    if _is_past(asked.get('expires_at'), now):
        yield (
            f'The request expired at {asked["expires_at"]}, so a worker only replies with '
            '"Request expired"; drop such a request'
        )
    elif method == rpc.POLICY_CHECK.name and asked.get('target') == 'BEFORE':
        yield (
            'This is a check BEFORE an action, whose engine has got RequestParked and does not '
            'carry it out. Load balancing may remove nodes that stay alive from their pool; drop '
            'such a request, and repeat the action'
        )
    elif method in BINDINGS:
        yield (
            f'The caller of {method} has got RequestParked, and does not know a load balancer '
            'that a worker creates or deletes; drop such a request, and repeat it in the engine'
        )


def _is_past(value: object, now: datetime.datetime) -> bool:
    try:
        return in_utc(datetime.datetime.fromisoformat(str(value))) < now
    except ValueError:
        return False
