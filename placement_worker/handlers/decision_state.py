"""The conditions of a decision, and the state that policies start from."""

import datetime
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from placement_worker.cloud.ports import Cloud, Clouds, OctaviaSettings, UnreachableCloud
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.cluster import in_utc
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.errors import CloudUnavailable, RequestExpired
from placement_worker.formats.text import shortened
from placement_worker.planning.cordon import Cordon
from placement_worker.policies.base import State

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a decision.

    `max_nodes`: the largest cluster that a creation may lead to. `now`: the time of the decision.
    `left_s`: returns the seconds until the request expires, infinity if it never does. `cordons`:
    the cordons in force at `now`.
    """

    clouds: Clouds
    octavia_settings: OctaviaSettings
    max_nodes: int
    now: datetime.datetime
    left_s: Callable[[], float]
    cordons: Sequence[Cordon] = ()


@dataclass(frozen=True, slots=True)
class Expiry:
    """The time at which a request expires, or None; `now` returns the time of day."""

    at: datetime.datetime | None
    now: Callable[[], datetime.datetime]

    def left_s(self) -> float:
        """Return the seconds until the request expires; infinity if it never does."""
        return math.inf if self.at is None else (in_utc(self.at) - self.now()).total_seconds()


def state_for_check(request: CheckRequest, conditions: Conditions, *, needs_cloud: bool) -> State:
    """Return the state that the first policy of a check gets.

    :param needs_cloud: whether a policy is consulted; without one, credentials do not matter.
    :raises Rejected: the request has expired, its credentials are refused, or the cloud cannot be
        reached.
    """
    _check_expiry(request, conditions.left_s)
    if needs_cloud:
        cloud = conditions.clouds.acting_for(request.credentials, request.cluster.project)
    else:
        cloud = _unreachable(CloudUnavailable('No policy of this check uses the cloud'))
    snapshot = Snapshot(cloud, request.cluster, conditions.octavia_settings)
    data = ActionData(request.action.data)
    return _state(data, snapshot, conditions)


def state_for_binding(request: BindRequest, conditions: Conditions) -> State:
    """Return the state for attaching or detaching a policy.

    Most policies need no cloud for that, so a cloud that cannot be reached is an error on its first
    use only.

    :raises Rejected: the request has expired, or its credentials are refused.
    """
    _check_expiry(request, conditions.left_s)
    try:
        cloud = conditions.clouds.acting_for(request.credentials, request.cluster.project)
    except CloudUnavailable as exc:
        cloud = _unreachable(exc)
    snapshot = Snapshot(cloud, request.cluster, conditions.octavia_settings)
    return _state(ActionData({}), snapshot, conditions)


def _state(data: ActionData, snapshot: Snapshot, conditions: Conditions) -> State:
    return State(
        data,
        snapshot,
        conditions.max_nodes,
        conditions.now,
        left_s=conditions.left_s,
        cordons=conditions.cordons,
    )


def _check_expiry(request: CheckRequest | BindRequest, left_s: Callable[[], float]) -> None:
    left = left_s()
    if left <= 0:
        LOG.warning(
            'Request for cluster %a expired %.1f s before a worker began it: it waited too long in '
            "the queue, an operator retried it, or the caller's clock is behind this host's; "
            'compare the clocks if no requests wait and none was retried',
            shortened(request.cluster.id),
            -left,
        )
        raise RequestExpired('Request expired')


def _unreachable(cause: CloudUnavailable) -> Cloud:
    return cast('Cloud', UnreachableCloud(cause))
