"""Tests for detaching the load-balancing policy."""

import pytest

from tests.factories import bind, connected, load_balancing_policy
from tests.unit.policies.load_balancing.building_blocks import refusal, stored

OURS = ['placement-worker:cluster=c1', 'placement-worker:policy=pol-loadbalance']
VIP = {'loadbalancers': {'pol-loadbalance': {'vip_address': '10.0.0.9'}}}


def test_detach_deletes_the_load_balancer_in_one_update(lab):
    """The load balancer and all its parts are deleted in one update."""
    policy, members = lab.attached([connected(1), connected(2)], health_monitor={})
    lab.calls.clear()

    reply = lab.detach(
        bind({**policy, 'data': {**policy['data'], 'Other': 1}}, members, data={**VIP, 'x': 1})
    )

    assert reply == {
        'status': 'OK',
        'reason': 'Policy detached.',
        'warnings': [],
        'policy': {'id': 'pol-loadbalance', 'data': {'Other': 1}},
        'cluster': {'data': {'x': 1}},
        'nodes': {'n1': {'data': {}}, 'n2': {'data': {}}},
    }
    assert lab.is_empty()
    assert [str(call) for call in lab.calls if call.writes] == ['delete loadbalancer']


def test_detach_keeps_entries_of_other_policies(lab):
    """The entries of other policies in the cluster's data stay."""
    policy, members = lab.attached([])
    data = {'loadbalancers': {**VIP['loadbalancers'], 'pol-other': {'vip_address': '10.0.0.8'}}}

    reply = lab.detach(bind(policy, members, data=data))

    assert reply['cluster']['data'] == {'loadbalancers': {'pol-other': {'vip_address': '10.0.0.8'}}}


def test_detach_of_a_deleted_load_balancer_succeeds(lab):
    """A load balancer that is already gone counts as deleted."""
    policy, members = lab.attached([connected(1)])
    assert lab.detach(bind(policy, members))['status'] == 'OK'

    again = lab.detach(bind(policy, members))

    assert (again['status'], again['nodes']) == ('OK', {'n1': {'data': {}}})


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

    assert lab.detach(bind(policy, members))['status'] == 'OK'
    assert lab.is_empty()


def test_detach_without_stored_data_deletes_tagged_load_balancers(lab):
    """Load balancers with the tags are deleted even if the reply to the attachment was lost."""
    _, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'duplicate', 'tags': OURS})

    assert lab.detach(bind(load_balancing_policy(), members))['status'] == 'OK'
    assert lab.is_empty()


def test_detach_deletes_the_others_if_one_cannot_be_deleted(lab):
    """If one load balancer cannot be deleted, the others are deleted nevertheless."""
    policy, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'duplicate', 'tags': OURS})
    known = policy['data']['LoadBalancingPolicy']['data']['loadbalancer']

    lab.around = refusal('delete', known)
    reply = lab.detach(bind(policy, members))

    assert (reply['status'], reply['reason']) == (
        'ERROR',
        f'Load balancer {known} cannot be deleted: Octavia responded with status 403: Policy '
        'does not allow this request to be '
        'performed.',
    )
    assert reply['policy']['data'] == policy['data']
    assert [one['id'] for one in lab.settled()['loadbalancer']] == [known]


def test_detach_deletes_a_load_balancer_of_senlin_by_its_id(lab):
    """A load balancer that Senlin created, which has no tags, is deleted by its id."""
    lb, pool = lab.foreign('10.0.0.1')
    data = stored(
        1.0, loadbalancer=lb, pool=pool, listener='x', healthmonitor='y', vip_address='10.0.0.200'
    )

    assert (
        lab.detach(bind(load_balancing_policy(data=data), [connected(1, data={'lb_member': 'm'})]))[
            'status'
        ]
        == 'OK'
    )
    assert lab.is_empty()


def test_detach_after_expiry_deletes_nothing(lab):
    """A request that has expired deletes nothing."""
    policy, members = lab.attached([connected(1)])
    lab.calls.clear()

    reply = lab.detach(bind(policy, members, expires_at=lab.clock.after(-1)))

    assert (reply['status'], reply['reason']) == ('ERROR', 'Request expired')
    assert lab.calls == []


def test_detach_names_a_load_balancer_that_cannot_be_deleted(lab):
    """The reason names a load balancer that cannot be deleted."""
    policy, members = lab.attached([connected(1)], lb_status_timeout=60)
    lab.pending_s = 300

    reply = lab.detach(bind(policy, members))

    assert reply['status'] == 'ERROR'
    assert reply['reason'].endswith('is still PENDING_DELETE after 60 s')
    assert reply['policy']['data'] == policy['data']


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

    lb = policy['data']['LoadBalancingPolicy']['data']['loadbalancer']
    assert (reply['status'], reply['reason']) == (
        'ERROR',
        f'Load balancer {lb} cannot be deleted: it is in ERROR',
    )
    assert sum(call.name == 'delete' for call in lab.calls) == 10


def test_detach_keeps_an_existing_load_balancer_without_a_stored_pool(lab):
    """A load balancer that a spec of Senlin names without `pool.id` is not deleted."""
    lab.foreign('10.0.0.100')
    policy = load_balancing_policy(
        loadbalancer='front', data=stored('1.3', preexisting=True, loadbalancer='front', pool=None)
    )

    reply = lab.detach(bind(policy, [connected(1)]))

    assert (reply['status'], reply['policy']['data']) == ('OK', {})
    assert lab.addresses() == ['10.0.0.100']
