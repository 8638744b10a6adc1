"""The choice by a worker.

A request holds nothing of a group that the contract does not list: its definition has secrets.
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.model import (
    Action,
    Binding,
    CheckReply,
    CheckRequest,
    Cluster,
    Credentials,
    Node,
    Profile,
    Spec,
)
from placement_worker.engines.heat.plans import Member
from placement_worker.errors import Rejected, WorkerFailed

LOG = logging.getLogger(__name__)
# Members of a group have no profile; zone placement supports this type.
_PROFILE_TYPE = 'os.nova.server-1.0'
Check = Callable[[CheckRequest], CheckReply]
Store = Callable[[dict[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as the workers see it; Heat stores the `data`, which the workers change."""

    id: str
    name: str
    user: str | None
    project: str | None
    placement: Mapping[str, Any]
    credentials: Credentials
    data: Mapping[str, Any] = field(default_factory=dict)


class WorkerChooser:
    """`store` keeps the data of the group for later requests."""

    def __init__(self, check: Check, group: Group, store: Store) -> None:
        self._check, self._group, self._store = check, group, store

    def victims(self, members: Sequence[Member], count: int) -> list[str]:
        data = self._decide(actions.CLUSTER_SCALE_IN, members, count=count)
        chosen = list(data.get('deletion', {}).get('candidates', []))
        return self._complete(chosen, count, 'victims')

    def zones(self, members: Sequence[Member], count: int) -> list[str]:
        """Return the zones that zone placement planned.

        Heat forgets why a member failed when it creates the member again. The worker must record
        the failures before, or later members would go to a full zone.

        :raises Rejected: a policy cannot decide.
        """
        renewed = [member.name for member in members if member.needs_zone]
        if renewed:
            self._decide(actions.CLUSTER_DEL_NODES, members, candidates=renewed)
        data = self._decide(actions.CLUSTER_SCALE_OUT, members, count=count)
        planned = data.get('placement', {}).get('placements', [])
        return self._complete([entry['zone'] for entry in planned], count, 'zones')

    def _decide(self, action: str, members: Sequence[Member], **inputs: Any) -> dict[str, Any]:
        reply = self._check(check_request(self._group, members, action, inputs))
        for warning in reply.warnings:
            LOG.warning('Group %s: %s', self._group.name, warning)
        if reply.cluster is not None:
            self._group = replace(self._group, data=reply.cluster.data)
            self._store(reply.cluster.data)
        data = reply.action.data
        LOG.info('Group %s: %s: %s', self._group.name, data['status'], data['reason'])
        if data['status'] != 'OK':
            raise Rejected(data['reason'])
        return data

    def _complete(self, chosen: list[str], count: int, kind: str) -> list[str]:
        if len(chosen) != count:
            raise WorkerFailed(
                f'The worker chose {len(chosen)} {kind} for group {self._group.name}, expected '
                f'{count}; its log has the decision'
            )
        return chosen


def zone_spec(placement: Mapping[str, Any]) -> Spec:
    return Spec('senlin.policy.zone_placement', '1.1', {'zones': placement['zones']})


def deletion_spec(placement: Mapping[str, Any]) -> Spec:
    return Spec('senlin.policy.deletion', '1.1', dict(placement['deletion']))


def check_request(
    group: Group, members: Sequence[Member], action: str, inputs: dict[str, Any]
) -> CheckRequest:
    # The id of the action seeds random choices, so each request has its own.
    return CheckRequest(
        target='BEFORE',
        action=Action(id=str(uuid.uuid4()), action=action, inputs=inputs),
        cluster=Cluster(
            id=group.id,
            name=group.name,
            user=group.user,
            project=group.project,
            profile=Profile(_PROFILE_TYPE),
            nodes=[_node(i, member) for i, member in enumerate(members)],
            desired_capacity=len(members),
            data=dict(group.data),
        ),
        policies=[
            Binding('placement', zone_spec(group.placement), name='placement'),
            Binding('deletion', deletion_spec(group.placement), name='deletion'),
        ],
        explain='none',
        credentials=group.credentials,
    )


def _node(index: int, member: Member) -> Node:
    """The position in Heat's order breaks ties of age, as Heat knows only the second of a creation.

    Outdated members are tainted, so that they leave before current ones. A member that Heat creates
    again has no time of creation, so that it takes no room in its zone.
    """
    return Node(
        id=member.name,
        name=member.name,
        index=index,
        status='ERROR' if member.failed else 'ACTIVE',
        status_reason=member.reason,
        tainted=member.is_outdated,
        created_at=None if member.needs_zone else member.created_at,
        updated_at=member.updated_at if member.failed else None,
        data={'placement': {'zone': member.zone}} if member.zone else {},
    )
