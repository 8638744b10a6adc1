"""Convert Senlin's objects to requests of the contract, with nothing that it does not list."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from senlin.common import consts
from senlin.objects import cluster as clusters
from senlin.objects import credential as credentials
from senlin.objects import node as nodes
from senlin.objects import profile as profiles

from placement_worker.contract.model import (
    Action,
    Binding,
    BindRequest,
    CheckRequest,
    Cluster,
    Credentials,
    Node,
    NodeMetadata,
    Phase,
    Profile,
    ProfileContext,
    ProfileProperties,
    Spec,
)


def check_request(
    action: Any, cluster_id: str, target: Phase, policies: Sequence[Binding]
) -> CheckRequest:
    cluster = cluster_of(action.context, cluster_id)
    return CheckRequest(
        target=target,
        action=Action(
            id=action.id,
            action=action.action,
            # The workers skip derived actions of nodes, because they have decided on that of the
            # cluster. No policy decides on CLUSTER_RECOVER, so its nodes have checks of their own.
            cause=consts.CAUSE_RPC if action.action == consts.NODE_RECOVER else action.cause,
            # `last_op` is a datetime of Senlin's scaling policy.
            inputs={key: value for key, value in action.inputs.items() if key != 'last_op'},
            data=action.data,
            node=next((node for node in cluster.nodes if node.id == action.target), None),
        ),
        cluster=cluster,
        policies=list(policies),
        explain='none',
        credentials=trust(action.context, cluster),
    )


def bind_request(context: Any, cluster_id: str, policy: Binding) -> BindRequest:
    cluster = cluster_of(context, cluster_id)
    return BindRequest(cluster=cluster, policy=policy, credentials=trust(context, cluster))


def policy_binding(
    policy: Any,
    *,
    enabled: bool = True,
    priority: int | None = None,
    data: Mapping[str, Any] | None = None,
) -> Binding:
    spec = policy.spec
    return Binding(
        id=policy.id,
        name=policy.name,
        enabled=enabled,
        priority=priority,
        data=dict(data or {}),
        spec=Spec(spec['type'], spec['version'], dict(spec.get('properties') or {})),
    )


def cluster_of(context: Any, cluster_id: str) -> Cluster:
    """Return the cluster with all its nodes in their current state of the database.

    The engine has no limit for a `max_size` of 0.
    """
    cluster = clusters.Cluster.get(context, cluster_id, project_safe=False)
    members = nodes.Node.get_all_by_cluster(context, cluster_id, project_safe=False)
    known = _profiles(context, {cluster.profile_id, *(member.profile_id for member in members)})
    return Cluster(
        id=cluster.id,
        name=cluster.name,
        user=cluster.user,
        project=cluster.project,
        min_size=cluster.min_size or 0,
        max_size=cluster.max_size or consts.CLUSTER_DEFAULT_MAX_SIZE,
        desired_capacity=cluster.desired_capacity or 0,
        profile=known[cluster.profile_id],
        data=cluster.data or {},
        nodes=[_node(member, cluster.profile_id, known) for member in members],
    )


def trust(context: Any, cluster: Cluster) -> Credentials:
    """Return the Keystone trust of the cluster's owner; a worker may do without one."""
    credential = credentials.Credential.get(context, cluster.user, cluster.project)
    return Credentials(trust_id=credential.cred['openstack']['trust'] if credential else None)


def _node(node: Any, cluster_profile_id: str, known: Mapping[str, Profile]) -> Node:
    created_at = node.profile_created_at  # a string, which `Node.to_dict` omits
    failed = node.status == consts.NS_ERROR
    metadata = node.metadata or {}
    return Node(
        id=node.id,
        name=node.name,
        physical_id=node.physical_id,
        index=-1 if node.index is None else node.index,
        status=node.status or '',
        status_reason=node.status_reason if failed else None,
        tainted=bool(node.tainted),
        created_at=node.created_at,
        profile_id=node.profile_id,
        profile_created_at=datetime.datetime.fromisoformat(created_at) if created_at else None,
        profile=None if node.profile_id == cluster_profile_id else known.get(node.profile_id),
        data=node.data or {},
        # Other metadata than the mark of a protected node stay in the engine.
        metadata=NodeMetadata(metadata['protected']) if 'protected' in metadata else None,
        updated_at=node.updated_at if failed else None,
    )


def _profiles(context: Any, profile_ids: Iterable[str]) -> dict[str, Profile]:
    stored = (
        profiles.Profile.get(context, profile_id, project_safe=False)
        for profile_id in profile_ids
        if profile_id
    )
    return {profile.id: _profile(profile) for profile in stored if profile}


def _profile(profile: Any) -> Profile:
    """Return type, age, zone and region; other properties may hold passwords and user data."""
    properties = profile.spec.get('properties') or {}
    region = (properties.get('context') or {}).get('region_name')
    return Profile(
        type=profile.type,
        id=profile.id,
        created_at=profile.created_at,
        properties=ProfileProperties(
            properties.get('availability_zone'), ProfileContext(region) if region else None
        ),
    )
