"""Tests for detaching a policy whose spec is invalid: the stored data must suffice."""

import pytest

from tests.factories import bind, connected, load_balancing_policy
from tests.simulated_octavia import data_of, patched
from tests.unit.policies.load_balancing.building_blocks import stored

VIP = {'loadbalancers': {'pol-loadbalance': {'vip_address': '10.0.0.9'}}}
SPECS = [
    {'type': 'senlin.policy.loadbalance', 'version': '1.1', 'properties': {}},
    {
        'type': 'senlin.policy.loadbalance',
        'version': '1.1',
        'properties': {'pool': {'subnet': 's', 'protocol_port': 0}},
    },
    {'type': 'senlin.policy.loadbalance', 'version': '1.1', 'properties': {'unheard-of': [1]}},
    {
        'type': 'senlin.policy.loadbalance',
        'version': '9.9',
        'properties': {'pool': {'subnet': 's'}},
    },
    {'type': 'senlin.policy.loadbalance', 'version': 'latest', 'properties': {}},
    {'type': 'company.policy.balance', 'version': '1.0', 'properties': {'pool': 7}},
    {'type': '', 'version': '', 'properties': {}},
]
"""Specs that fit no schema, and of no installed version or type."""


@pytest.mark.parametrize('spec', SPECS)
def test_detach_with_an_invalid_spec_deletes_the_stored_load_balancer(lab, spec):
    """The policy's own load balancer is deleted with the stored data if the spec is invalid."""
    policy, members = lab.attached([connected(1), connected(2)], health_monitor={})

    reply = lab.detach(bind({**policy, 'spec': spec}, members, data=VIP))

    assert (reply['status'], reply['reason']) == ('OK', 'Policy detached.')
    assert reply['policy']['data'] == {}
    assert data_of(patched(members, reply)) == {'n1': {}, 'n2': {}}
    assert lab.is_empty()


@pytest.mark.parametrize('spec', SPECS)
def test_detach_with_an_invalid_spec_removes_nodes_from_an_existing_pool(lab, spec):
    """Members leave a preexisting pool with the stored data if the spec is invalid."""
    _, pool = lab.foreign('10.0.0.100', '10.0.0.1')
    by_senlin = next(one['id'] for one in lab.settled()['member'] if one['address'] == '10.0.0.1')
    policy = load_balancing_policy(
        data=stored('1.3', preexisting=True, loadbalancer='front', pool=pool)
    )
    members = [connected(1, data={'lb_member': by_senlin}), connected(2)]

    reply = lab.detach(bind({**policy, 'spec': spec}, members))

    assert (reply['status'], reply['nodes']) == ('OK', {'n1': {'data': {}}})
    assert lab.addresses() == ['10.0.0.100']


def test_detach_with_an_invalid_spec_has_the_default_timeout(lab):
    """A detachment with an invalid spec may take 300 s."""
    policy, members = lab.attached([connected(1)])
    lab.pending_s = 400

    reply = lab.detach(bind({**policy, 'spec': SPECS[0]}, members))

    assert reply['reason'].endswith('is still PENDING_DELETE after 300 s')
