"""Bindings of policies change through Senlin's API."""

from tests.cloud.clusters import Cluster


def test_disabled_zones_are_not_planned_until_enabled(cloud):
    """A worker plans no zones while the binding of the policy is disabled."""
    cluster = Cluster(cloud, 1)
    policy = cluster.attach_zones(az2=100)

    cluster.do('policy_update', policy_id=policy, enabled=False)
    without = cluster.change('scale_out', count=1)
    cluster.do('policy_update', policy_id=policy, enabled=True)
    with_zones = cluster.change('scale_out', count=1)

    assert cluster.decisions(without.action) == []
    assert [node.placement['zone'] for node in with_zones.added] == ['az2']
    assert cluster.zones()['az2'] >= 1


def test_disabled_load_balancing_adds_no_member(cloud):
    """The pool has no member for a node that was created while the binding was disabled."""
    cluster = Cluster(cloud, 1)
    policy = cluster.attach_load_balancing()
    before = cluster.members(policy)

    cluster.do('policy_update', policy_id=policy, enabled=False)
    cluster.change('scale_out', count=1)

    assert cluster.members(policy) == before
    assert len(cluster.addresses()) == 2


def test_load_balancer_is_created_again_after_detach(cloud):
    """A detach deletes the load balancer, and the policy can be attached again.

    Deleting the cluster then deletes the new load balancer and the servers.
    """
    cluster = Cluster(cloud, 1)
    policy = cluster.attach_load_balancing()
    first = cluster.load_balancer(policy)

    cluster.do('policy_detach', policy_id=policy)
    detached = cloud.load_balancers()
    cluster.do('policy_attach', policy_id=policy, enabled=True)
    second, attached = cluster.load_balancer(policy), cluster.members(policy)
    addresses, [node] = cluster.addresses(), cluster.nodes()
    cluster.senlin.delete(cluster.target)

    assert first not in detached
    assert attached == addresses
    assert second not in cloud.load_balancers()
    assert node.physical_id not in cloud.servers()
