"""Detaching the load-balancing policy: what was made is deleted, what was there stays."""

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


def test_nothing_is_left_after_one_update(lab):
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


def test_entries_of_other_policies_stay_in_the_clusters_data(lab):
    policy, members = lab.attached([])
    data = {'loadbalancers': {**VIP['loadbalancers'], 'pol-other': {'vip_address': '10.0.0.8'}}}

    reply = lab.detach(bind(policy, members, data=data))

    assert reply['cluster']['data'] == {'loadbalancers': {'pol-other': {'vip_address': '10.0.0.8'}}}


def test_what_is_gone_already_counts_as_done(lab):
    policy, members = lab.attached([connected(1)])
    assert lab.detach(bind(policy, members))['status'] == 'OK'

    again = lab.detach(bind(policy, members))

    assert (again['status'], again['nodes']) == ('OK', {'n1': {'data': {}}})


@pytest.mark.parametrize('status', ['ERROR', 'ACTIVE', 'PENDING_UPDATE', 'PENDING_DELETE'])
def test_a_load_balancer_is_deleted_whatever_its_state(lab, status):
    policy, members = lab.attached([connected(1)])
    with lab.store.changing() as state:
        (lb,) = state['R1']['loadbalancer'].values()
        lb['provisioning_status'] = status
        if status.startswith('PENDING'):
            then = 'ACTIVE' if status == 'PENDING_UPDATE' else 'DELETED'
            state['R1']['pending'] = {lb['id']: {'until': lab.clock() + 20, 'then': then}}

    assert lab.detach(bind(policy, members))['status'] == 'OK'
    assert lab.is_empty()


def test_without_data_of_the_binding_what_carries_the_tags_is_deleted(lab):
    """The reply to attaching may have been lost."""
    _, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'loser', 'tags': OURS})

    assert lab.detach(bind(balancing_policy(), members))['status'] == 'OK'
    assert lab.is_empty()


def test_one_load_balancer_that_stays_does_not_keep_the_others(lab):
    policy, members = lab.attached([connected(1)])
    lab.octavia(None).create('loadbalancer', {'name': 'loser', 'tags': OURS})
    known = policy['data']['LoadBalancingPolicy']['data']['loadbalancer']

    def refuse_one(call):
        if call.name == 'delete' and call.arguments[1] == known:
            raise ApiError('Policy does not allow this request to be performed.', 403)
        return call.act()

    lab.around = refuse_one
    reply = lab.detach(bind(policy, members))

    assert (reply['status'], reply['reason']) == (
        'ERROR',
        f'Load balancer {known} cannot be deleted: Octavia answers 403: Policy does not allow this request to be '
        'performed.',
    )
    assert reply['policy']['data'] == policy['data']
    assert [one['id'] for one in lab.settled()['loadbalancer']] == [known]


def test_a_load_balancer_that_was_made_by_senlin_is_deleted_by_its_id(lab):
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
    def test_only_the_nodes_leave_its_pool(self, lab, by):
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
    def test_members_that_senlin_added_carry_no_tags_and_leave_too(self, lab, by):
        lb, pool = lab.foreign('10.0.0.100', '10.0.0.1')
        data = stored(
            '1.1', loadbalancer=lb if by == 'id' else 'front', pool=pool, preexisting=True
        )
        known = lab.settled()['member'][1]['id']
        policy = balancing_policy(loadbalancer='front', pool={'id': pool}, data=data)

        reply = lab.detach(bind(policy, [connected(1, data={'lb_member': known})]))

        assert (reply['status'], reply['nodes']) == ('OK', {'n1': {'data': {}}})
        assert lab.addresses() == ['10.0.0.100']

    def test_without_data_of_the_binding_the_nodes_leave_the_pool_of_the_properties(self, lab):
        _, pool = lab.foreign('10.0.0.100')
        lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})

        reply = lab.detach(
            bind(balancing_policy(loadbalancer='front', pool={'id': pool}), [connected(1)])
        )

        assert reply['status'] == 'OK'
        assert lab.addresses() == ['10.0.0.100']

    def test_members_of_nodes_that_are_no_more_leave_too(self, lab):
        _, pool = lab.foreign('10.0.0.100')
        policy, members = lab.attached(
            [connected(1), connected(2)], loadbalancer='front', pool={'id': pool}
        )

        assert lab.detach(bind(policy, members[:1]))['status'] == 'OK'
        assert lab.addresses() == ['10.0.0.100']

    @pytest.mark.parametrize('what', ['pool', 'load balancer'])
    def test_what_is_gone_already_counts_as_done(self, lab, what):
        lb, pool = lab.foreign()
        policy, members = lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})
        with lab.store.changing() as state:
            del state['R1']['pool'][pool]
            if what == 'load balancer':
                del state['R1']['loadbalancer'][lb]

        assert lab.detach(bind(policy, members))['status'] == 'OK'

    def test_detaching_from_a_cluster_without_nodes_whose_pool_is_not_shown_is_an_error(self, lab):
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
            == 'Octavia answers 403: Policy does not allow this request to be performed.'
        )

    def test_a_member_that_stays_is_told_with_its_reason_and_the_binding_stays(self, lab):
        _, pool = lab.foreign('10.0.0.100')
        policy, members = lab.attached(
            [connected(1), connected(2)], loadbalancer='front', pool={'id': pool}
        )
        doomed = members[0]['data']['lb_member']

        def refuse_one(call):
            if call.name == 'delete_member' and call.arguments[1] == doomed:
                raise ApiError('Policy does not allow this request to be performed.', 403)
            return call.act()

        lab.around = refuse_one
        reply = lab.detach(bind(policy, members))

        assert (reply['status'], reply['reason']) == (
            'ERROR',
            "Failed in removing deleted node(s) from lb pool: ['n1'] (n1: Octavia answers 403: Policy does not allow "
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


def test_a_detachment_that_is_too_late_deletes_nothing(lab):
    policy, members = lab.attached([connected(1)])
    lab.calls.clear()

    reply = lab.detach(bind(policy, members, expires_at=lab.clock.after(-1)))

    assert (reply['status'], reply['reason']) == ('ERROR', 'Request expired')
    assert lab.calls == []


def test_a_load_balancer_that_stays_is_told(lab):
    policy, members = lab.attached([connected(1)], lb_status_timeout=60)
    lab.pending_s = 300

    reply = lab.detach(bind(policy, members))

    assert reply['status'] == 'ERROR'
    assert reply['reason'].endswith('is still PENDING_DELETE after 60 s')
    assert reply['policy']['data'] == policy['data']


def test_a_load_balancer_whose_deletion_breaks_is_tried_again_and_then_told(lab):
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
def test_a_spec_never_prevents_deleting_what_the_data_of_the_binding_name(lab, spec):
    """A load balancer of the policy's own is deleted by the binding's data, whatever the spec has
    become.
    """
    policy, members = lab.attached([connected(1), connected(2)], health_monitor={})

    reply = lab.detach(bind({**policy, 'spec': spec}, members, data=VIP))

    assert (reply['status'], reply['reason']) == ('OK', 'Policy detached.')
    assert reply['policy']['data'] == {}
    assert data_of(patched(members, reply)) == {'n1': {}, 'n2': {}}
    assert lab.is_empty()


@pytest.mark.parametrize('spec', SPECS)
def test_a_spec_never_prevents_leaving_a_pool_that_was_there_before(lab, spec):
    """Members leave a pre-existing pool by the binding's data and the nodes', whatever the spec has
    become.
    """
    _, pool = lab.foreign('10.0.0.100', '10.0.0.1')
    by_senlin = next(one['id'] for one in lab.settled()['member'] if one['address'] == '10.0.0.1')
    policy = balancing_policy(data=stored('1.3', preexisting=True, loadbalancer='front', pool=pool))
    members = [connected(1, data={'lb_member': by_senlin}), connected(2)]

    reply = lab.detach(bind({**policy, 'spec': spec}, members))

    assert (reply['status'], reply['nodes']) == ('OK', {'n1': {'data': {}}})
    assert lab.addresses() == ['10.0.0.100']


def test_a_load_balancer_that_was_there_before_stays_though_senlin_stored_no_pool(lab):
    """Senlin accepts `loadbalancer` without `pool.id`; detaching does not delete that load
    balancer.
    """
    lab.foreign('10.0.0.100')
    policy = balancing_policy(
        loadbalancer='front', data=stored('1.3', preexisting=True, loadbalancer='front', pool=None)
    )

    reply = lab.detach(bind(policy, [connected(1)]))

    assert (reply['status'], reply['policy']['data']) == ('OK', {})
    assert lab.addresses() == ['10.0.0.100']


def test_a_spec_that_fits_nothing_leaves_as_much_time_as_one_that_says_nothing(lab):
    """Without a spec that fits, a detachment may take 300 s."""
    policy, members = lab.attached([connected(1)])
    lab.pending_s = 400

    reply = lab.detach(bind({**policy, 'spec': SPECS[0]}, members))

    assert reply['reason'].endswith('is still PENDING_DELETE after 300 s')
