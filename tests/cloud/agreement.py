"""Checks that all sources agree about a cluster."""

from collections import Counter
from typing import Any

from tests.cloud.sources import Change, ClusterSources, addresses, ids, zones
from tests.waiting import wait_for

LOAD_BALANCING = 'loadbalance'


def check(cluster: ClusterSources, change: Change) -> None:
    """Check a cluster after an action in all four sources.

    The nodes that the action has added are active in Senlin's database. Nova has the servers in the
    zones of their nodes. The members of enabled pools in Octavia are these servers. The workers
    have recorded the zones of new nodes and the ids of deleted ones, if they decide for a policy;
    attaching and detaching have no decision.
    """
    if change.action['status'] == 'SUCCEEDED':
        assert {node.status for node in change.added} <= {'ACTIVE'}
    check_nodes(cluster)
    decisions = cluster.decisions(change.action)
    is_of_policy = change.action['action'].endswith('_POLICY')
    is_decided = cluster.cloud.decides and not is_of_policy and cluster.enabled_policies()
    assert bool(decisions) == bool(is_decided)
    for decision in decisions:
        if decision['status'] == 'ERROR':
            assert (change.added, change.removed) == ([], [])
        if 'placement' in decision:
            recorded = Counter(entry['zone'] for entry in decision['placement']['placements'])
            assert recorded == zones(change.added)
        if 'candidates' in decision.get('deletion', {}):
            assert set(decision['deletion']['candidates']) == ids(change.removed)


def check_nodes(cluster: ClusterSources) -> None:
    """Check the nodes of a cluster in Senlin, Nova and Octavia.

    Each server is active in the zone of its node, if that has one, and enabled pools have the
    servers, and no others, as members.
    """
    servers = cluster.servers()
    for node in cluster.nodes():
        if node.id in servers:
            server, planned = servers[node.id], node.placement.get('zone')
            assert server.status == 'ACTIVE'
            assert planned in (None, server.availability_zone)
    for policy in cluster.enabled_policies(LOAD_BALANCING):
        assert cluster.members(policy) == addresses(servers)


def check_octavia(cluster: ClusterSources) -> None:
    """Check that Octavia has the objects of the enabled policies of a cluster and no others.

    All of them become active.
    """
    expected = [
        cluster.load_balancer(policy) for policy in cluster.enabled_policies(LOAD_BALANCING)
    ]
    wait_for(lambda: _tagged(cluster, 'load_balancers') == dict.fromkeys(expected, 'ACTIVE'))
    for part in ('listeners', 'pools'):
        assert list(_tagged(cluster, part).values()) == ['ACTIVE'] * len(expected)


def check_deleted(cluster: ClusterSources) -> None:
    """Check that Octavia has no object of a cluster that was deleted."""
    for kind in ('load_balancers', 'listeners', 'pools'):
        assert _tagged(cluster, kind) == {}


def _tagged(cluster: ClusterSources, kind: str) -> dict[str, Any]:
    """Return the provisioning status of each object of a kind with the tag of the cluster."""
    octavia = cluster.cloud.connect('demo').load_balancer
    objects = getattr(octavia, kind)(tags=[f'placement-worker:cluster={cluster.id}'])
    return {found.id: found.provisioning_status for found in objects}
