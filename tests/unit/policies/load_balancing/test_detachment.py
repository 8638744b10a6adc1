"""Detaching the policy: its load balancer is deleted, or its members leave an existing pool."""

import pytest

from tests.factories import bind, connected, load_balancing_policy
from tests.simulated_octavia import data_of, patched
from tests.unit.policies.load_balancing.building_blocks import (
    FORBIDDEN,
    OURS,
    ids_of,
    refusal,
    stored,
    writes,
)

REFUSED = f'Octavia responded with status 403: {FORBIDDEN}'
VIP = {'loadbalancers': {'pol-loadbalance': {'vip_address': '10.0.0.9'}}}
TYPE = {'type': 'senlin.policy.loadbalance', 'version': '1.1'}
# Specs that fit no schema, and of no installed version or type.
SPECS = [
    {**TYPE, 'properties': {}},
    {**TYPE, 'properties': {'pool': {'subnet': 's', 'protocol_port': 0}}},
    {**TYPE, 'properties': {'unheard-of': [1]}},
    {**TYPE, 'version': '9.9', 'properties': {'pool': {'subnet': 's'}}},
    {**TYPE, 'version': 'latest', 'properties': {}},
    {'type': 'company.policy.balance', 'version': '1.0', 'properties': {'pool': 7}},
    {'type': '', 'version': '', 'properties': {}},
]


@pytest.fixture
def existing(lab):
    """A policy that uses an existing pool with a foreign member, and n1 and n2 in that pool."""
    return lab.attached([connected(1), connected(2)], **lab.existing('10.0.0.100'))


def detached(reply):
    assert (reply['status'], reply['reason']) == ('OK', 'Policy detached.')
    return reply['nodes']


def failed(reply, policy):
    """Return the reason of a failed detachment, whose binding keeps its data."""
    assert (reply['status'], reply['policy']['data']) == ('ERROR', policy['data'])
    return reply['reason']


@pytest.mark.parametrize('spec', [None, *SPECS])
def test_detach_deletes_the_load_balancer_in_one_update_whatever_the_spec_is(lab, spec):
    """One update deletes the load balancer with all its parts, even if the spec is invalid."""
    policy, members = lab.attached([connected(1), connected(2)], health_monitor={})
    lab.calls.clear()
    policy |= {'data': {**policy['data'], 'Other': 1}, 'spec': spec or policy['spec']}

    reply = lab.detach(bind(policy, members, data={**VIP, 'x': 1}))

    assert reply == {
        'status': 'OK',
        'reason': 'Policy detached.',
        'warnings': [],
        'policy': {'id': 'pol-loadbalance', 'data': {'Other': 1}},
        'cluster': {'data': {'x': 1}},
        'nodes': {'n1': {'data': {}}, 'n2': {'data': {}}},
    }
    assert lab.is_empty()
    assert writes(lab) == ['delete loadbalancer']


@pytest.mark.parametrize('others', [{'pol-other': {'vip_address': '10.0.0.8'}}, {}])
def test_detach_keeps_entries_of_other_policies(lab, others):
    """The entries of other policies in the cluster's data stay."""
    policy, members = lab.attached([])
    data = {'loadbalancers': {**VIP['loadbalancers'], **others}, 'x': 1}

    reply = lab.detach(bind(policy, members, data=data))

    left = {'loadbalancers': others} if others else {}
    assert reply['cluster']['data'] == {'x': 1, **left}


@pytest.mark.parametrize('status', ['ERROR', 'ACTIVE', 'PENDING_UPDATE', 'PENDING_DELETE'])
def test_detach_deletes_a_load_balancer_in_any_state(lab, status):
    """A load balancer is deleted in every provisioning status."""
    policy, members = lab.attached([connected(1)])
    with lab.store.changing() as state:
        (lb,) = state['R1']['loadbalancer'].values()
        lb['provisioning_status'] = status
        if status.startswith('PENDING'):
            then = 'ACTIVE' if status == 'PENDING_UPDATE' else 'DELETED'
            state['R1']['pending'] = {lb['id']: {'until': lab.clock() + 20, 'then': then}}

    detached(lab.detach(bind(policy, members)))

    assert lab.is_empty()


def test_detach_without_stored_data_deletes_tagged_load_balancers(lab):
    """Load balancers with the tags are deleted even if the reply to the attachment was lost."""
    _, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'duplicate', 'tags': OURS})

    reply = lab.detach(bind(load_balancing_policy(), members))

    assert detached(reply) == {'n1': {'data': {}}}
    assert (reply['cluster'], lab.is_empty()) == (None, True)


def test_detach_deletes_the_others_if_one_cannot_be_deleted(lab):
    """If one load balancer cannot be deleted, the others are deleted nevertheless."""
    policy, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'duplicate', 'tags': OURS})
    known = ids_of(policy)['loadbalancer']

    lab.around = refusal('delete', known)
    reply = lab.detach(bind(policy, members))

    assert failed(reply, policy) == f'Load balancer {known} cannot be deleted: {REFUSED}'
    assert [one['id'] for one in lab.settled()['loadbalancer']] == [known]


@pytest.mark.parametrize(
    ('properties', 'spec', 'seconds'),
    [({'lb_status_timeout': 60}, None, 60), ({}, SPECS[0], 300)],
    ids=['given', 'default of an invalid spec'],
)
def test_detach_ends_at_the_timeout_with_the_status(lab, properties, spec, seconds):
    """The reason names a load balancer that is not deleted in time."""
    policy, members = lab.attached([connected(1)], **properties)
    lab.pending_s = 400

    reply = lab.detach(bind({**policy, 'spec': spec or policy['spec']}, members))

    assert failed(reply, policy).endswith(f'is still PENDING_DELETE after {seconds} s')


def test_detach_retries_a_deletion_that_ends_in_error(lab):
    """A deletion that ends in ERROR is retried; the reason names the last status."""
    policy, members = lab.attached([connected(1)])

    def break_it(call):
        answer = call.act()
        if call.name == 'delete':
            with lab.store.changing() as state:
                for pending in state['R1']['pending'].values():
                    pending['then'] = 'ERROR'
        return answer

    lab.around = break_it
    reply = lab.detach(bind(policy, members))

    lb = ids_of(policy)['loadbalancer']
    assert failed(reply, policy) == f'Load balancer {lb} cannot be deleted: it is in ERROR'
    assert sum(call.name == 'delete' for call in lab.calls) == 10


def test_detach_keeps_an_existing_load_balancer_without_a_stored_pool(lab):
    """A load balancer that a spec of Senlin names without `pool.id` is not deleted."""
    lab.foreign('10.0.0.100')
    data = stored('1.3', preexisting=True, loadbalancer='front', pool=None)

    reply = lab.detach(bind(load_balancing_policy(loadbalancer='front', data=data), [connected(1)]))

    assert (reply['status'], reply['policy']['data']) == ('OK', {})
    assert lab.addresses() == ['10.0.0.100']


@pytest.mark.parametrize('by', ['id', 'name'])
@pytest.mark.parametrize('spec', [None, *SPECS])
def test_detach_removes_members_that_senlin_added_whatever_the_spec_is(lab, by, spec):
    """Members without tags leave the pool of the stored data, even if the spec is invalid."""
    lb, pool = lab.foreign('10.0.0.100', '10.0.0.1')
    data = stored('1.1', loadbalancer=lb if by == 'id' else 'front', pool=pool, preexisting=True)
    known = lab.settled()['member'][1]['id']
    policy = load_balancing_policy(loadbalancer='front', pool={'id': pool}, data=data)
    members = [connected(1, data={'lb_member': known}), connected(2)]

    reply = lab.detach(bind({**policy, 'spec': spec or policy['spec']}, members))

    assert detached(reply) == {'n1': {'data': {}}}
    assert lab.addresses() == ['10.0.0.100']


def test_detach_removes_members_of_deleted_nodes(lab, existing):
    """Members left behind by deleted nodes are removed too."""
    policy, members = existing

    detached(lab.detach(bind(policy, members[:1])))

    assert lab.addresses() == ['10.0.0.100']


def test_detach_without_nodes_fails_if_the_pool_cannot_be_listed(lab, existing):
    """A failure of Octavia that concerns no node is the reason, and the binding stays."""
    policy, _ = existing
    lab.around = refusal('members')

    reply = lab.detach(bind(policy))

    assert failed(reply, policy) == REFUSED


def test_detach_with_a_member_that_stays_fails_with_the_cause(lab, existing):
    """A member that cannot be removed fails the detachment, and the binding keeps its data."""
    policy, members = existing
    lab.around = refusal('delete_member', members[0]['data']['lb_member'])

    reply = lab.detach(bind(policy, members))

    reason = f"Failed in removing deleted node(s) from lb pool: ['n1'] (n1: {REFUSED})"
    assert failed(reply, policy) == reason
    assert reply['nodes']['n1']['status_reason'] == 'Failed in removing node from lb pool.'
    assert data_of(patched(members, reply)) == {'n1': members[0]['data'], 'n2': {}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.100']
