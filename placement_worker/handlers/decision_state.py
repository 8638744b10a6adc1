"""The decision of a check: its conditions, the state that policies start from, and the last step.

All that a decision reads besides its request is in `Conditions`: a recorded decision is replayed by
replacing them. A policy that read a clock or a setting elsewhere could not be replayed.
"""

import datetime
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct, structs

from placement_worker.cloud.ports import Cloud, Clouds, OctaviaSettings, UnreachableCloud
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION, ActionData
from placement_worker.contract.model import (
    ActionPatch,
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    RebalanceReply,
    RebalanceRequest,
    ReplyTo,
    in_utc,
)
from placement_worker.errors import CloudUnavailable, Rejected, RequestExpired
from placement_worker.formats.text import shortened
from placement_worker.handlers import chain
from placement_worker.handlers.chain import Link, Progress
from placement_worker.planning.places import Cordon
from placement_worker.planning.sizing import size_warnings, with_size_of_resize
from placement_worker.planning.victims import Members
from placement_worker.policies import victim_selection
from placement_worker.policies.base import BEFORE, State
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.recorded_failures import patch_after_deletion
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.resolved_places import Places, backoff_of
from placement_worker.policies.shared_placement import PlacementPolicy
from placement_worker.policies.zone_placement import ZonePlacement

LOG = logging.getLogger(__name__)
_COMPLETED = 'Completed policy checking.'


class Conditions(Struct, frozen=True):
    """The conditions of a decision.

    `max_nodes`: the largest cluster that a creation may lead to. `left_s`: returns the seconds
    until the request expires. `cordons`: the cordons in force at `now`.
    """

    clouds: Clouds
    octavia_settings: OctaviaSettings
    max_nodes: int
    now: datetime.datetime
    left_s: Callable[[], float]
    cordons: Sequence[Cordon] = ()


def seconds_left(expires_at: datetime.datetime | None, now: datetime.datetime) -> float:
    """Return the seconds until a request expires; infinity if it never does."""
    return math.inf if expires_at is None else (in_utc(expires_at) - now).total_seconds()


def state_for_check(request: CheckRequest, links: Sequence[Link], conditions: Conditions) -> State:
    """Return the state that the first policy of a check gets.

    Without a policy that is consulted, credentials do not matter.

    :raises Rejected: the request has expired, its credentials are refused, or the cloud cannot be
        reached.
    """
    _check_expiry(request, conditions.left_s)
    consulted = chain.consulted(links)
    if consulted:
        cloud = conditions.clouds.acting_for(request.credentials, request.cluster.project)
    else:
        cloud = _unreachable(CloudUnavailable('No policy of this check uses the cloud'))
    snapshot = Snapshot(cloud, request.cluster, conditions.octavia_settings)
    regions = chain.first_policy(consulted, RegionPlacement)
    zones = chain.first_policy(consulted, ZonePlacement)
    deletion = chain.first_policy(links, Deletion)  # also one that chooses in a later action
    places = Places(
        request,
        snapshot,
        conditions.cordons,
        conditions.now,
        [
            backoff
            for link in links
            if isinstance(link.policy, PlacementPolicy)
            if (backoff := backoff_of(link.policy.properties))
        ],
        regions.properties if regions else None,
        zones.properties if zones else None,
    )
    # The outcome of an earlier phase would end up in the reply.
    data = {k: v for k, v in request.action.data.items() if k not in ('status', 'reason')}
    state = _state(ActionData(data), snapshot, conditions)
    criteria = deletion.properties.criteria if deletion else 'RANDOM'
    members = Members(request.cluster.nodes, criteria, request.action.id)
    return structs.replace(state, members=members, _places=places)


def decide(
    request: CheckRequest, links: Sequence[Link], state: State, clock: Callable[[], float]
) -> CheckReply:
    """Check the victims that the request names, consult the policies, and complete their reply.

    :returns: status OK, or ERROR with the reason of the failure. The data of a policy that failed
        are dropped, since the engine does not carry out the action.
    """
    progress = Progress(state)
    try:
        if chain.consulted(links) and _may_name_victims(request, state):
            _check_named_victims(request, progress)
        chain.run(links, request, progress, clock)
        if request.target == BEFORE:
            _complete(request, links, progress)
    except Rejected as exc:
        return _reply(request, progress, 'ERROR', str(exc))
    return _reply(request, progress, 'OK', progress.state.data.get('reason', _COMPLETED))


def _check_named_victims(request: CheckRequest, progress: Progress) -> None:
    """Drop a deletion that the action ignores, with a warning, before the first policy runs.

    The reply would otherwise show a deletion that no policy has checked.

    :raises Rejected: the request names a node that must not be deleted.
    """
    state = progress.state
    victim_selection.check_candidates(request, state)
    data, warnings = victim_selection.without_ignored_deletion(request, state)
    progress.state = structs.replace(state, action_data=ActionData(data))
    progress.warnings += warnings


def _may_name_victims(request: CheckRequest, state: State) -> bool:
    """Return False for most checks of growth, which then need no rules about victims."""
    named = DELETION in state.data or request.action.inputs.get('candidates')
    return request.target == BEFORE and bool(named)


def _complete(request: CheckRequest, links: Sequence[Link], progress: Progress) -> None:
    """Add the warnings about sizes, and what is stored for later checks.

    :raises NodeProtected: the plan or the action names a protected node for deletion.
    """
    state = progress.state
    if request.action.node or _may_name_victims(request, state):
        victim_selection.check_candidates(request, state)
        victim_selection.check_named(request, state)
    if chain.consulted(links):
        progress.warnings[:0] = size_warnings(
            request, state.action_data, state.max_nodes, state.protected(request)
        )
    if request.action.action == actions.CLUSTER_RESIZE:
        _add_size_of_resize(request, progress)
    if state.places.backoffs:
        patch = patch_after_deletion(
            request, progress.state.data, state.cluster, state.places.backoffs, state.now
        )
        progress.state = structs.replace(progress.state, cluster=patch or state.cluster)


def _add_size_of_resize(request: CheckRequest, progress: Progress) -> None:
    state = progress.state
    try:
        data = with_size_of_resize(
            request.action, state.action_data, request.cluster, state.max_nodes
        )
    except Rejected as exc:  # the invalid value did not matter to any policy
        refusal = f'{str(exc).rstrip(".")}: the engine must refuse the resize'
        progress.warnings.insert(0, refusal)
    else:
        progress.state = structs.replace(state, action_data=ActionData(data))


def _reply(request: CheckRequest, progress: Progress, status: str, reason: str) -> CheckReply:
    state = progress.state
    return CheckReply(
        action=ActionPatch(request.action.id, {**state.data, 'status': status, 'reason': reason}),
        cluster=state.cluster,
        nodes=dict(sorted(state.nodes.items())),
        warnings=list(dict.fromkeys(progress.warnings)),
        decisions=progress.decisions,
    )


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
            abs(left),
        )
        raise RequestExpired('Request expired')


def _unreachable(cause: CloudUnavailable) -> Cloud:
    return cast('Cloud', UnreachableCloud(cause))


Request = CheckRequest | BindRequest | RebalanceRequest
ReplyT = TypeVar('ReplyT', CheckReply, BindReply, RebalanceReply)
# A function that returns the cordons in force at a time.
CordonsInForce = Callable[[datetime.datetime], Sequence[Cordon]]


class Delivery(Protocol):
    def reply(self, to: ReplyTo, request_id: str | None, reply: Any, left_s: float) -> None:
        """Deliver a reply, in the form of its request, to the place that a cast names.

        :param left_s: seconds until the request expires.
        :raises Redeliver: the reply was not delivered, but may be later.
        """


class Recorder(Protocol):
    def __call__(
        self,
        method: str,
        request: Request,
        request_id: str | None,
        conditions: Conditions,
        decide: Callable[[Conditions], ReplyT],
        /,
    ) -> ReplyT:
        """Decide under conditions that note the values that are read, and record the reply.

        An error of recording must not be raised, since the cloud has been changed.
        """
