"""Tests for detaching the load-balancing policy."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import balancing_policy, bind, connected
from tests.simulated_octavia import Lab, data_of, patched

OURS = ['placement-worker:cluster=c1', 'placement-worker:policy=pol-loadbalance']
VIP = {'loadbalancers': {'pol-loadbalance': {'vip_address': '10.0.0.9'}}}


@pytest.fixture
def lab():
    return Lab()


def stored(version, **data):
    """The data of a binding, as policies of any version have left it."""
    return {'LoadBalancingPolicy': {'version': version, 'data': data}}


def refusal(name, resource_id):
    """Return what makes Octavia refuse a call about one resource."""

    def around(call):
        if call.name == name and call.arguments[1] == resource_id:
            raise ApiError('Policy does not allow this request to be performed.', 403)
        return call.act()

    return around


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
    lab.octavia(None).create('loadbalancer', {'name': 'loser', 'tags': OURS})

    assert lab.detach(bind(balancing_policy(), members))['status'] == 'OK'
    assert lab.is_empty()


def test_detach_deletes_the_others_if_one_cannot_be_deleted(lab):
    """If one load balancer cannot be deleted, the others are deleted nevertheless."""
    policy, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'loser', 'tags': OURS})
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
        lab.detach(bind(balancing_policy(data=data), [connected(1, data={'lb_member': 'm'})]))[
            'status'
        ]
        == 'OK'
    )
    assert lab.is_empty()


class TestExisting:
    """A load balancer that was there before."""

    @pytest.mark.parametrize('by', ['id', 'name'])
    def test_detach_removes_only_the_nodes_from_an_existing_pool(self, lab, by):
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
    def test_detach_removes_members_that_senlin_added(self, lab, by):
        """Members that Senlin added, which have no tags, are removed too."""
        lb, pool = lab.foreign('10.0.0.100', '10.0.0.1')
        data = stored(
            '1.1', loadbalancer=lb if by == 'id' else 'front', pool=pool, preexisting=True
        )
        known = lab.settled()['member'][1]['id']
        policy = balancing_policy(loadbalancer='front', pool={'id': pool}, data=data)

        reply = lab.detach(bind(policy, [connected(1, data={'lb_member': known})]))

        assert (reply['status'], reply['nodes']) == ('OK', {'n1': {'data': {}}})
        assert lab.addresses() == ['10.0.0.100']

    def test_detach_without_stored_data_uses_the_pool_of_the_properties(self, lab):
        """Without stored data the nodes leave the pool that the properties name."""
        _, pool = lab.foreign('10.0.0.100')
        lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})

        reply = lab.detach(
            bind(balancing_policy(loadbalancer='front', pool={'id': pool}), [connected(1)])
        )

        assert reply['status'] == 'OK'
        assert lab.addresses() == ['10.0.0.100']

    def test_detach_removes_members_of_deleted_nodes(self, lab):
        """Members left behind by deleted nodes are removed too."""
        _, pool = lab.foreign('10.0.0.100')
        policy, members = lab.attached(
            [connected(1), connected(2)], loadbalancer='front', pool={'id': pool}
        )

        assert lab.detach(bind(policy, members[:1]))['status'] == 'OK'
        assert lab.addresses() == ['10.0.0.100']

    @pytest.mark.parametrize('what', ['pool', 'load balancer'])
    def test_detach_from_a_deleted_pool_succeeds(self, lab, what):
        """A preexisting pool or load balancer that is already gone counts as done."""
        lb, pool = lab.foreign()
        policy, members = lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})
        with lab.store.changing() as state:
            del state['R1']['pool'][pool]
            if what == 'load balancer':
                del state['R1']['loadbalancer'][lb]

        assert lab.detach(bind(policy, members))['status'] == 'OK'

    def test_detach_without_nodes_fails_if_the_pool_cannot_be_listed(self, lab):
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

    def test_detach_with_a_member_that_stays_fails_with_the_cause(self, lab):
        """A member that cannot be removed fails the detachment, and the binding keeps its data."""
        _, pool = lab.foreign('10.0.0.100')
        policy, members = lab.attached(
            [connected(1), connected(2)], loadbalancer='front', pool={'id': pool}
        )
        doomed = members[0]['data']['lb_member']

        lab.around = refusal('delete_member', doomed)
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
    policy = balancing_policy(data=stored('1.3', preexisting=True, loadbalancer='front', pool=pool))
    members = [connected(1, data={'lb_member': by_senlin}), connected(2)]

    reply = lab.detach(bind({**policy, 'spec': spec}, members))

    assert (reply['status'], reply['nodes']) == ('OK', {'n1': {'data': {}}})
    assert lab.addresses() == ['10.0.0.100']


def test_detach_keeps_an_existing_load_balancer_without_a_stored_pool(lab):
    """A load balancer that a spec of Senlin names without `pool.id` is not deleted."""
    lab.foreign('10.0.0.100')
    policy = balancing_policy(
        loadbalancer='front', data=stored('1.3', preexisting=True, loadbalancer='front', pool=None)
    )

    reply = lab.detach(bind(policy, [connected(1)]))

    assert (reply['status'], reply['policy']['data']) == ('OK', {})
    assert lab.addresses() == ['10.0.0.100']


def test_detach_with_an_invalid_spec_has_the_default_timeout(lab):
    """A detachment with an invalid spec may take 300 s."""
    policy, members = lab.attached([connected(1)])
    lab.pending_s = 400

    reply = lab.detach(bind({**policy, 'spec': SPECS[0]}, members))

    assert reply['reason'].endswith('is still PENDING_DELETE after 300 s')
