"""Pools of Octavia with two policies, reused addresses, drift, and members in a wrong state."""

from collections.abc import Callable
from typing import Any

import pytest
from openstack.exceptions import BadRequestException

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.handlers.service import Endpoints
from tests.integration.cloud import Cloud
from tests.integration.clusters import Cluster, Json, lb_policy, succeeded, updates


@pytest.fixture(params=[True, False], ids=['batch', 'single'])
def batch(request: pytest.FixtureRequest) -> bool:
    """Whether the worker changes members together."""
    return bool(request.param)


@pytest.fixture
def web(
    batch: bool, cluster: Callable[[int], Cluster], make_endpoints: Callable[..., Endpoints]
) -> Cluster:
    """A cluster without nodes."""
    settings = OctaviaSettings(batch, poll_initial_s=0.1, poll_max_s=1)
    made = cluster(0)
    made.endpoints = make_endpoints(lambda: settings)
    return made


def second() -> Json:
    """Return a policy for another port of the same nodes."""
    subnet = {'subnet': 'private-subnet'}
    properties: Any = {
        'pool': {**subnet, 'protocol_port': 8443},
        'vip': {**subnet, 'protocol_port': 8443},
    }
    return {**lb_policy('1.4', **properties), 'id': 'second'}


def members(openstack: Cloud, web: Cluster, port: int = 8080) -> dict[str, Any]:
    """Return the members of a pool: address -> member."""
    found = web.remaining()['members']
    return {one.address: one for one in found if one.protocol_port == port}


def at(node: Json, address: str) -> Json:
    """Return a node whose request shows this address."""
    return {**node, 'details': {'addresses': {'private': [{'addr': address, 'version': 4}]}}}


def owner(member: Any) -> str:
    """Return the node in the tags of a member."""
    [tag] = [tag for tag in member.tags if ':node=' in tag]
    return str(tag.rpartition('=')[2])


def operator_sets(openstack: Cloud, web: Cluster, address: str, **values: Any) -> None:
    """Change a member as an operator does."""
    octavia = openstack.connect('demo').load_balancer
    [balancer] = web.remaining()['loadbalancers']
    octavia.update_member(members(openstack, web)[address], web.pool, **values)
    octavia.wait_for_load_balancer(balancer.id, wait=180)


def test_two_policies_follow_one_cluster(openstack: Cloud, web: Cluster, batch: bool) -> None:
    """Both pools follow growth, recreation, shrinking and detachment, and nothing remains."""
    web.grow(2)
    succeeded(web.attach())
    succeeded(web.attach_also(second()))
    new = web.grow(3)
    with openstack.services['octavia'].watch() as seen:
        succeeded(web.added(new))
    assert len(updates(seen)) == (2 if batch else 6)
    assert len(members(openstack, web)) == len(members(openstack, web, 8443)) == 5
    for node in web.nodes:
        assert set(node['data']['lb_members']) == {'second'}

    old = next(iter(members(openstack, web)))
    holder = next(
        node for node in web.nodes if node['data']['lb_member'] == members(openstack, web)[old].id
    )
    recreated = at({**holder, 'data': {**holder['data'], 'recovery': 'RECREATE'}}, '10.0.250.7')
    web.nodes = [recreated if one is holder else one for one in web.nodes]
    succeeded(web.check('AFTER', 'NODE_RECOVER', node=recreated))
    for port in (8080, 8443):
        addresses = members(openstack, web, port)
        assert ('10.0.250.7' in addresses, old in addresses, len(addresses)) == (True, False, 5)

    succeeded(web.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'candidates': new}))
    web.remove(new)
    assert len(members(openstack, web)) == len(members(openstack, web, 8443)) == 2

    succeeded(web.detach())
    assert all('lb_member' in one['data'] for one in web.nodes)
    web.policy = web.others.pop()
    web.end()
    assert not any({'lb_member', 'lb_members'} & one['data'].keys() for one in web.nodes)


def test_members_are_taken_over_repaired_and_moved(
    openstack: Cloud, web: Cluster, batch: bool
) -> None:
    """A leftover gets the wanted state, a stale member its new node, a drained one stays drained;
    attaching again repairs the rest.
    """
    web.grow(4)
    web.nodes = [at(one, f'10.0.250.{i}') for i, one in enumerate(web.nodes, 11)]
    succeeded(web.attach())
    for address in ('10.0.250.11', '10.0.250.12'):
        operator_sets(openstack, web, address, weight=0, is_admin_state_up=False)
    leaver, _drained, mover, _last = web.nodes
    web.remove([leaver['id']])
    web.nodes = [at(one, '10.0.250.99') if one['id'] == mover['id'] else one for one in web.nodes]
    new = web.grow(2)
    addresses = dict(zip(new, ('10.0.250.11', '10.0.250.13'), strict=True))
    web.nodes = [at(one, addresses[one['id']]) if one['id'] in new else one for one in web.nodes]

    with openstack.services['octavia'].watch() as seen:
        succeeded(web.added(new))

    assert len(updates(seen)) == (1 if batch else 5)
    found = members(openstack, web)
    state = {
        address: (one.weight, one.is_admin_state_up, owner(one)) for address, one in found.items()
    }
    assert state['10.0.250.11'] == (1, True, new[0])
    assert state['10.0.250.12'][:2] == (0, False)
    assert state['10.0.250.13'] == (1, True, new[1])
    assert state['10.0.250.99'] == (1, True, mover['id'])
    recorded = {one['id']: one['data']['lb_member'] for one in web.nodes}
    assert recorded == {owner(one): one.id for one in found.values()}

    octavia = openstack.connect('demo').load_balancer
    [balancer] = web.remaining()['loadbalancers']
    octavia.delete_health_monitor(web.remaining()['healthmonitors'][0])
    octavia.wait_for_load_balancer(balancer.id, wait=180)
    octavia.delete_member(found['10.0.250.13'], web.pool)
    octavia.wait_for_load_balancer(balancer.id, wait=180)
    web.remove([new[0]])

    repaired = succeeded(web.attach())

    assert 'created again: healthmonitor' in repaired['warnings'][-1]
    assert set(members(openstack, web)) == {f'10.0.250.{i}' for i in (12, 13, 14, 99)}
    assert len(web.remaining()['healthmonitors']) == 1
    web.end()


def test_octavia_refuses_what_is_refused_early(openstack: Cloud) -> None:
    """Octavia refuses a sample of the combinations that validation refuses."""
    octavia = openstack.connect('demo').load_balancer
    subnet = openstack.subnets['private-subnet']
    for listener, pool, monitor in (
        ('HTTP', 'TCP', None), ('UDP', 'HTTP', None), ('TCP', 'UDP', None),
        ('TCP', 'TCP', 'UDP-CONNECT'), ('UDP', 'UDP', 'PING'),
    ):  # fmt: skip
        parts: Json = {'name': 'p', 'protocol': pool, 'lb_algorithm': 'ROUND_ROBIN'}
        if monitor:
            parts['healthmonitor'] = {
                'type': monitor, 'delay': 5, 'timeout': 3, 'max_retries': 3,
            }  # fmt: skip
        listeners = [{'protocol': listener, 'protocol_port': 80, 'default_pool': parts}]
        with pytest.raises(BadRequestException):
            octavia.create_load_balancer(name='early', vip_subnet_id=subnet, listeners=listeners)
    assert not list(octavia.load_balancers(name='early'))
