"""Convert a group to requests of the contract, with nothing that it does not list."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placement_worker.contract import actions
from placement_worker.contract.model import (
    Action,
    Binding,
    CheckRequest,
    Cluster,
    Credentials,
    Node,
    Profile,
    Spec,
)
from placement_worker.engines.heat.members import Member

PROFILE_TYPE = 'os.nova.server-1.0'
"""The profile type that zone placement supports; members of a group have no profile."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group as the workers see it.

    :ivar placement: the property `placement`.
    :ivar data: the data that the workers have changed, and that Heat stores.
    """

    id: str
    name: str
    user: str | None
    project: str | None
    placement: Mapping[str, Any]
    credentials: Credentials
    data: Mapping[str, Any] = field(default_factory=dict)


def growth(group: Group, members: Sequence[Member], count: int) -> CheckRequest:
    """Return the request for the zones of members to create."""
    return _request(group, members, actions.CLUSTER_SCALE_OUT, {'count': count})


def shrinkage(group: Group, members: Sequence[Member], count: int) -> CheckRequest:
    """Return the request for the victims."""
    return _request(group, members, actions.CLUSTER_SCALE_IN, {'count': count})


def removal(group: Group, members: Sequence[Member], names: Sequence[str]) -> CheckRequest:
    """Return the request that announces members that Heat deletes without a choice."""
    return _request(group, members, actions.CLUSTER_DEL_NODES, {'candidates': list(names)})


def zone_spec(placement: Mapping[str, Any]) -> Spec:
    """Return the spec of the policy that plans zones."""
    return Spec('senlin.policy.zone_placement', '1.1', {'zones': placement['zones']})


def _request(
    group: Group, members: Sequence[Member], action: str, inputs: dict[str, Any]
) -> CheckRequest:
    deletion = Spec('senlin.policy.deletion', '1.1', dict(group.placement['deletion']))
    return CheckRequest(
        target='BEFORE',
        action=Action(id=str(uuid.uuid4()), action=action, inputs=inputs),
        cluster=Cluster(
            id=group.id,
            name=group.name,
            user=group.user,
            project=group.project,
            profile=Profile(PROFILE_TYPE),
            nodes=[_node(i, member) for i, member in enumerate(members)],
            desired_capacity=len(members),
            data=dict(group.data),
        ),
        policies=[
            Binding('placement', zone_spec(group.placement), name='placement'),
            Binding('deletion', deletion, name='deletion'),
        ],
        explain='none',
        credentials=group.credentials,
    )


def _node(index: int, member: Member) -> Node:
    """Return a member as a node.

    The position in Heat's order breaks ties of age, since Heat knows the second of a creation only.
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
