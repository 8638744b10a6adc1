"""Tests for the preexisting load balancer that the properties name."""

import pytest

from tests.factories import bind, connected, load_balancing_policy
from tests.simulated_octavia import data_of


@pytest.mark.parametrize('by', ['id', 'name'])
def test_existing_load_balancer_gets_the_nodes_and_keeps_its_members(lab, by):
    """The nodes are added to the existing pool, and its other members stay."""
    lb, pool = lab.foreign('10.0.0.100')
    monitor = lab.settled()['healthmonitor'][0]['id']
    named = lb if by == 'id' else 'front'
    before = lab.settled()

    policy, members = lab.attached(
        [connected(1), connected(2)],
        loadbalancer=named,
        pool={'id': pool},
        health_monitor={'id': monitor},
    )

    assert policy['data']['LoadBalancingPolicy']['data'] == {
        'loadbalancer': lb, 'listener': before['listener'][0]['id'], 'pool': pool,
        'healthmonitor': monitor,
        'preexisting': True,
    }  # fmt: skip
    assert [str(call) for call in lab.calls if call.writes] == ['update_members']
    assert lab.settled()['member'][:1] == before['member']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.100', '10.0.0.2']
    assert all(one['data']['lb_member'] for one in members)


def test_foreign_member_of_a_node_is_not_adopted(lab):
    """A node that another client added to the pool gets no member of the policy."""
    lb, pool = lab.foreign('10.0.0.1')

    _, members = lab.attached([connected(1), connected(2)], loadbalancer=lb, pool={'id': pool})

    assert data_of(members)['n1'] == {}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


@pytest.mark.parametrize(
    ('properties', 'reason'),
    [
        ({'loadbalancer': 'none'}, 'The cloud has no load balancer none.'),
        ({'pool': {'id': 'none'}}, 'Load balancer front has no pool none.'),
        ({'health_monitor': {'id': 'none'}}, 'The cloud has no health monitor none.'),
        ({'loadbalancer': 'twin'}, '2 load balancers have the name twin: name one by its id.'),
        ({'loadbalancer': 'other'}, 'Load balancer other has no pool {pool}.'),
        (
            {'pool': {'subnet': 'none'}},
            'Subnet none of `pool.subnet` does not exist in the cloud.',
        ),
    ],
)
def test_missing_existing_objects_are_named_without_a_change(lab, properties, reason):
    """A load balancer, pool or monitor that does not exist is named, and nothing changes."""
    _, pool = lab.foreign()
    for name in ('twin', 'twin', 'other'):
        lab.octavia(None).create('loadbalancer', {'name': name})
    lab.calls.clear()
    given = {
        'loadbalancer': 'front',
        **properties,
        'pool': {'id': pool, **properties.get('pool', {})},
    }

    reply = lab.attach(bind(load_balancing_policy(**given), [connected(1)]))

    assert (reply['status'], reply['reason']) == ('ERROR', reason.format(pool=pool))
    assert not any(call.writes for call in lab.calls)
