"""Checks that all sources agree about a cluster."""

from collections import Counter
from typing import Any

from tests.cloud.nodes import Change, Json, ids, zones
from tests.cloud.sources import LOAD_BALANCING, ClusterSources, addresses


def check(cluster: ClusterSources, change: Change) -> None:
    """Check a cluster after an action in all four sources.

    The nodes that the action has added are active in Senlin's database. Nova has the servers in the
    zones of their nodes. The members of enabled pools in Octavia are these servers. The workers
    have recorded the zones of new nodes and the ids of deleted ones, if they decide for a policy.
    """
    if change.action['status'] == 'SUCCEEDED':
        assert {node.status for node in change.added} <= {'ACTIVE'}
    check_nodes(cluster)
    _check_decisions(cluster, change)


def check_nodes(cluster: ClusterSources) -> None:
    """Check the nodes of a cluster in Senlin, Nova and Octavia."""
    servers = cluster.servers()
    _check_zones(cluster, servers)
    _check_members(cluster, servers)


def _check_zones(cluster: ClusterSources, servers: dict[str, Any]) -> None:
    """Check that each server is active in the zone of its node, if that has one."""
    for node in cluster.nodes():
        if node.id in servers:
            server, planned = servers[node.id], node.placement.get('zone')
            assert server.status == 'ACTIVE'
            assert planned in (None, server.availability_zone)


def _check_members(cluster: ClusterSources, servers: dict[str, Any]) -> None:
    """Check that enabled pools have the servers, and no others, as members."""
    expected = addresses(servers.values())
    for policy, type_ in cluster.enabled_policies().items():
        if type_.startswith(LOAD_BALANCING):
            assert cluster.members(policy) == expected


def _check_decisions(cluster: ClusterSources, change: Change) -> None:
    """Check that the action has changed what the workers have recorded."""
    decisions = cluster.decisions(change.action)
    assert bool(decisions) == _is_decided(cluster, change)
    for decision in decisions:
        if decision['status'] == 'ERROR':
            assert (change.added, change.removed) == ([], [])
        if 'placement' in decision:
            assert recorded_zones(decision) == zones(change.added)
        if 'candidates' in decision.get('deletion', {}):
            assert set(decision['deletion']['candidates']) == ids(change.removed)


def recorded_zones(decision: Json) -> Counter[str]:
    """Return the zones that a worker recorded for new nodes."""
    return Counter(entry['zone'] for entry in decision['placement']['placements'])


def _is_decided(cluster: ClusterSources, change: Change) -> bool:
    """Return whether workers decide on an action; attaching and detaching have no decision."""
    is_of_policy = change.action['action'].endswith('_POLICY')
    return cluster.cloud.decides and not is_of_policy and bool(cluster.enabled_policies())
