"""Tests for detaching the policy from a preexisting load balancer."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import bind, connected, load_balancing_policy
from tests.simulated_octavia import data_of, patched
from tests.unit.policies.load_balancing.building_blocks import refusal, stored


@pytest.mark.parametrize('by', ['id', 'name'])
def test_detach_removes_only_the_nodes_from_an_existing_pool(lab, by):
    """Only the cluster's nodes are removed from a preexisting pool."""
    lb, pool = lab.foreign('10.0.0.100')
    before = lab.settled()
    named = lb if by == 'id' else 'front'
    policy, members = lab.attached(
        [connected(1), connected(2)], loadbalancer=named, pool={'id': pool}
    )

    reply = lab.detach(bind(policy, members))

    assert (reply['status'], reply['policy']['data']) == ('OK', {})
    assert data_of(patched(members, reply)) == {'n1': {}, 'n2': {}}
    assert lab.settled() == before


@pytest.mark.parametrize('by', ['id', 'name'])
def test_detach_removes_members_that_senlin_added(lab, by):
    """Members that Senlin added, which have no tags, are removed too."""
    lb, pool = lab.foreign('10.0.0.100', '10.0.0.1')
    data = stored('1.1', loadbalancer=lb if by == 'id' else 'front', pool=pool, preexisting=True)
    known = lab.settled()['member'][1]['id']
    policy = load_balancing_policy(loadbalancer='front', pool={'id': pool}, data=data)

    reply = lab.detach(bind(policy, [connected(1, data={'lb_member': known})]))

    assert (reply['status'], reply['nodes']) == ('OK', {'n1': {'data': {}}})
    assert lab.addresses() == ['10.0.0.100']


def test_detach_without_stored_data_uses_the_pool_of_the_properties(lab):
    """Without stored data the nodes leave the pool that the properties name."""
    _, pool = lab.foreign('10.0.0.100')
    lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})

    reply = lab.detach(
        bind(load_balancing_policy(loadbalancer='front', pool={'id': pool}), [connected(1)])
    )

    assert reply['status'] == 'OK'
    assert lab.addresses() == ['10.0.0.100']


def test_detach_removes_members_of_deleted_nodes(lab):
    """Members left behind by deleted nodes are removed too."""
    _, pool = lab.foreign('10.0.0.100')
    policy, members = lab.attached(
        [connected(1), connected(2)], loadbalancer='front', pool={'id': pool}
    )

    assert lab.detach(bind(policy, members[:1]))['status'] == 'OK'
    assert lab.addresses() == ['10.0.0.100']


@pytest.mark.parametrize('what', ['pool', 'load balancer'])
def test_detach_from_a_deleted_pool_succeeds(lab, what):
    """A preexisting pool or load balancer that is already gone counts as done."""
    lb, pool = lab.foreign()
    policy, members = lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})
    with lab.store.changing() as state:
        del state['R1']['pool'][pool]
        if what == 'load balancer':
            del state['R1']['loadbalancer'][lb]

    assert lab.detach(bind(policy, members))['status'] == 'OK'


def test_detach_without_nodes_fails_if_the_pool_cannot_be_listed(lab):
    """A failure of Octavia that concerns no node is the reason, and the binding stays."""
    _, pool = lab.foreign()
    policy, _ = lab.attached([], loadbalancer='front', pool={'id': pool})

    def refuse(call):
        if call.name == 'members':
            raise ApiError('Policy does not allow this request to be performed.', 403)
        return call.act()

    lab.around = refuse
    reply = lab.detach(bind(policy))

    assert (reply['status'], reply['policy']['data']) == ('ERROR', policy['data'])
    assert (
        reply['reason']
        == 'Octavia responded with status 403: Policy does not allow this request to be '
        'performed.'
    )


def test_detach_with_a_member_that_stays_fails_with_the_cause(lab):
    """A member that cannot be removed fails the detachment, and the binding keeps its data."""
    _, pool = lab.foreign('10.0.0.100')
    policy, members = lab.attached(
        [connected(1), connected(2)], loadbalancer='front', pool={'id': pool}
    )
    kept_id = members[0]['data']['lb_member']

    lab.around = refusal('delete_member', kept_id)
    reply = lab.detach(bind(policy, members))

    assert (reply['status'], reply['reason']) == (
        'ERROR',
        "Failed in removing deleted node(s) from lb pool: ['n1'] (n1: Octavia responded with "
        'status 403: Policy does not allow '
        'this request to be performed.)',
    )
    assert reply['policy']['data'] == policy['data']
    assert reply['nodes'] == {
        'n1': {
            'data': members[0]['data'],
            'status': 'WARNING',
            'status_reason': 'Failed in removing node from lb pool.',
        },
        'n2': {'data': {}},
    }
    assert lab.addresses() == ['10.0.0.1', '10.0.0.100']
