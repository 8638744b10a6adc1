"""A node that has the address of one that is no more, whose member is still in the pool."""

import pytest

from placement_worker.errors import CloudUnavailable
from tests.factories import bind, connected, node, request
from tests.simulated_octavia import Lab, data_of


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture(params=['own', 'existing'])
def web(lab, request):
    """n1 vanished without a check, and n9 has its address: policy and nodes."""
    properties = (
        {'loadbalancer': 'front', 'pool': {'id': lab.foreign()[1]}}
        if request.param == 'existing'
        else {}
    )
    policy, members = lab.attached([connected(1), connected(2)], **properties)
    return policy, [members[1], heir(9)]


def heir(number, of=1):
    return {**connected(of), 'id': f'n{number}', 'name': f'n{number}'}


def member_of(lab, name):
    (found,) = (one['id'] for one in lab.settled()['member'] if one['name'] == name)
    return found


def created(policy, members, one, **more):
    return request('NODE_CREATE', [policy], members, node=one, target='AFTER', **more)


def test_it_gets_that_member_without_an_update(lab, web):
    policy, members = web
    lab.calls.clear()

    reply = lab.check(created(policy, members, members[1]))

    assert reply['decisions'][0]['reason'] == '1 in the pool already'
    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_of(lab, 'n1')}}}
    assert not any(call.writes for call in lab.calls)


def test_before_it_dies_it_leaves_the_pool_whether_it_knows_of_the_member_or_not(lab, web):
    policy, members = web
    one = members[1]

    reply = lab.check(request('NODE_DELETE', [policy], members, node=one))

    assert reply['decisions'][0]['details']['removed'] == ['n9']
    assert lab.addresses() == ['10.0.0.2']


def test_a_cluster_that_shrinks_takes_it_out_with_the_others(lab, web):
    policy, members = web

    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n2', 'n9']})
    )

    assert reply['decisions'][0]['details']['removed'] == ['n2', 'n9']
    assert lab.addresses() == []


def test_a_policy_that_is_attached_again_gives_it_that_member(lab, web):
    policy, members = web

    reply = lab.attach(bind({**policy, 'data': {}}, members))

    assert reply['nodes']['n9'] == {'data': {'lb_member': member_of(lab, 'n1')}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_a_member_that_octavia_could_not_set_up_is_set_up_for_the_heir(lab, web):
    policy, members = web
    left = member_of(lab, 'n1')
    with lab.store.changing() as state:
        (pool,) = state['R1']['members'].values()
        pool[left]['provisioning_status'] = 'ERROR'

    reply = lab.check(created(policy, members, members[1]))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_of(lab, 'n9')}}}
    assert {one['provisioning_status'] for one in lab.settled()['member']} == {'ACTIVE'}


def test_of_two_living_nodes_with_one_address_the_second_neither_gets_nor_removes_the_firsts_member(
    lab, web
):
    policy, members = web
    twin = heir(8, of=2)
    both = [members[0], twin]

    added = lab.check(created(policy, both, twin))
    removed = lab.check(request('NODE_DELETE', [policy], both, node=twin))

    assert added['nodes'] == {}
    assert removed['decisions'][0]['details']['passed_over'] == ['n8']
    assert '10.0.0.2' in lab.addresses()


def test_what_another_cluster_or_policy_has_left_stays(lab, web):
    policy, members = web
    asked = request('NODE_DELETE', [policy], members, node=members[1])
    asked['cluster']['id'] = 'c2'

    assert lab.check(asked)['decisions'][0]['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_at_another_port_it_is_no_member_of_the_node(lab):
    policy, _ = lab.attached([connected(1)])
    policy['spec']['properties']['pool']['protocol_port'] = 81

    reply = lab.check(request('NODE_DELETE', [policy], [heir(9)], node=heir(9)))

    assert reply['decisions'][0]['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1']


def test_nobody_is_asked_for_addresses_where_no_member_was_left_behind(lab):
    policy, members = lab.attached([connected(1)])
    members = [*members, node(2, physical_id='s2')]
    asked = []
    lab.subnet = lab.servers = lambda *args: asked.append(args)

    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n1', 'n2']})
    )

    assert (reply['action']['data']['status'], asked) == ('OK', [])


def test_a_node_whose_address_cannot_be_had_fails_and_the_others_leave(lab, web):
    """Whether the member that was left behind is its own cannot be told."""
    policy, members = web

    def away(*_):
        raise CloudUnavailable('Compute service unavailable')

    lab.servers = away
    members[1] = node(9, physical_id='s9')
    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n2', 'n9']})
    )

    assert reply['action']['data']['reason'] == (
        "Failed in removing deleted node(s) from lb pool: ['n9'] (n9: Compute service unavailable)"
    )
    assert reply['decisions'][0]['details']['failed'] == {'n9': 'Compute service unavailable'}
    assert data_of([{'id': key, **value} for key, value in reply['nodes'].items()]) == {
        'n2': {},
        'n9': {},
    }
    assert lab.addresses() == ['10.0.0.1']


@pytest.mark.parametrize('dry_run', [True, False])
def test_a_dry_run_counts_it(lab, dry_run):
    policy, _ = lab.attached([connected(1)])

    reply = lab.check(request('NODE_DELETE', [policy], [heir(9)], node=heir(9), dry_run=dry_run))

    assert reply['decisions'][0]['details']['removed'] == ['n9']
    assert lab.addresses() == (['10.0.0.1'] if dry_run else [])


def test_a_member_of_somebody_elses_at_the_address_stays_his(lab):
    _, pool = lab.foreign('10.0.0.3')
    policy, _ = lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})

    reply = lab.check(request('NODE_DELETE', [policy], [heir(9, of=3)], node=heir(9, of=3)))

    assert reply['decisions'][0]['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.3']
