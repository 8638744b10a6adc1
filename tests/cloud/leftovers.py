"""Objects in Octavia that no policy needs."""

from typing import Any

from tests.cloud.sources import LOAD_BALANCING, ClusterSources
from tests.waiting import wait_for

PARTS = ('listeners', 'pools')


def check(cluster: ClusterSources) -> None:
    """Check that Octavia has the objects of the enabled policies of a cluster and no others.

    All of them become active.
    """
    octavia = cluster.cloud.connect('demo').load_balancer
    enabled = cluster.enabled_policies()
    expected = {
        cluster.load_balancer(policy)
        for policy, type_ in enabled.items()
        if type_.startswith(LOAD_BALANCING)
    }
    wait_for(
        lambda: _tagged(octavia, 'load_balancers', cluster.id) == dict.fromkeys(expected, 'ACTIVE')
    )
    for part in PARTS:
        statuses = list(_tagged(octavia, part, cluster.id).values())
        assert statuses == ['ACTIVE'] * len(expected)


def check_deleted(cluster: ClusterSources) -> None:
    """Check that Octavia has no object of a cluster that was deleted."""
    octavia = cluster.cloud.connect('demo').load_balancer
    for kind in ('load_balancers', *PARTS):
        assert _tagged(octavia, kind, cluster.id) == {}


def _tagged(octavia: Any, kind: str, cluster_id: str) -> dict[str, str]:
    """Return the provisioning status of each object of a kind with the tag of the cluster."""
    tag = f'placement-worker:cluster={cluster_id}'
    objects = getattr(octavia, kind)(tags=[tag])
    return {left.id: left.provisioning_status for left in objects}
