"""Tests for nodes that reuse the addresses of deleted nodes."""

import pytest

from placement_worker.errors import CloudUnavailable
from tests.factories import bind, connected, node, request
from tests.simulated_octavia import data_of


@pytest.fixture(params=['own', 'existing'])
def web(lab, request):
    """n1 vanished without a check, and n9 has its address: policy and nodes."""
    properties = (
        {'loadbalancer': 'front', 'pool': {'id': lab.foreign()[1]}}
        if request.param == 'existing'
        else {}
    )
    policy, members = lab.attached([connected(1), connected(2)], **properties)
    return policy, [members[1], reusing(9)]


def reusing(number, of=1):
    """Return a new node at the address of another one."""
    return {**connected(of), 'id': f'n{number}', 'name': f'n{number}'}


def member_of(lab, name):
    (found,) = (one['id'] for one in lab.settled()['member'] if one['name'] == name)
    return found


def created(policy, members, one, **more):
    return request('NODE_CREATE', [policy], members, node=one, target='AFTER', **more)


def test_node_with_a_reused_address_adopts_the_member_without_an_update(lab, web):
    """A node that reuses the address of a deleted node adopts its member without an update."""
    policy, members = web
    lab.calls.clear()

    reply = lab.check(created(policy, members, members[1]))

    assert reply['decisions'][0]['reason'] == '1 in the pool already'
    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_of(lab, 'n1')}}}
    assert not any(call.writes for call in lab.calls)


def test_deleted_node_with_a_reused_address_leaves_the_pool(lab, web):
    """The member at a reused address is removed before the node, stored or not."""
    policy, members = web
    one = members[1]

    reply = lab.check(request('NODE_DELETE', [policy], members, node=one))

    assert reply['decisions'][0]['details']['removed'] == ['n9']
    assert lab.addresses() == ['10.0.0.2']


def test_scale_in_removes_a_member_left_behind(lab, web):
    """A scale-in removes a member at a reused address with the others."""
    policy, members = web

    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n2', 'n9']})
    )

    assert reply['decisions'][0]['details']['removed'] == ['n2', 'n9']
    assert lab.addresses() == []


def test_attach_again_adopts_a_member_left_behind(lab, web):
    """A repeated attachment gives a node the member at its address."""
    policy, members = web

    reply = lab.attach(bind({**policy, 'data': {}}, members))

    assert reply['nodes']['n9'] == {'data': {'lb_member': member_of(lab, 'n1')}}
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_member_left_behind_in_error_is_updated(lab, web):
    """A member left behind that is not ACTIVE is sent to Octavia again."""
    policy, members = web
    left = member_of(lab, 'n1')
    with lab.store.changing() as state:
        (pool,) = state['R1']['members'].values()
        pool[left]['provisioning_status'] = 'ERROR'

    reply = lab.check(created(policy, members, members[1]))

    assert reply['nodes'] == {'n9': {'data': {'lb_member': member_of(lab, 'n9')}}}
    assert {one['provisioning_status'] for one in lab.settled()['member']} == {'ACTIVE'}


def test_second_node_with_the_same_address_adopts_no_member(lab, web):
    """Of two nodes with the same address the second neither gets nor removes the member of the
    first.
    """
    policy, members = web
    twin = reusing(8, of=2)
    both = [members[0], twin]

    added = lab.check(created(policy, both, twin))
    removed = lab.check(request('NODE_DELETE', [policy], both, node=twin))

    assert added['nodes'] == {}
    assert removed['decisions'][0]['details']['passed_over'] == ['n8']
    assert '10.0.0.2' in lab.addresses()


def test_member_left_by_another_cluster_or_policy_stays(lab, web):
    """A member that another cluster or policy left behind stays."""
    policy, members = web
    asked = request('NODE_DELETE', [policy], members, node=members[1])
    asked['cluster']['id'] = 'c2'

    assert lab.check(asked)['decisions'][0]['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_removal_at_another_port_keeps_the_member(lab):
    """A member left behind at another port stays in the pool."""
    policy, _ = lab.attached([connected(1)])
    policy['spec']['properties']['pool']['protocol_port'] = 81

    reply = lab.check(request('NODE_DELETE', [policy], [reusing(9)], node=reusing(9)))

    assert reply['decisions'][0]['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1']


def test_addresses_are_not_looked_up_without_members_left_behind(lab):
    """Addresses are looked up only if the pool has members left behind."""
    policy, members = lab.attached([connected(1)])
    members = [*members, node(2, physical_id='s2')]
    asked = []
    lab.subnet = lab.servers = lambda *args: asked.append(args)

    reply = lab.check(
        request('CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n1', 'n2']})
    )

    assert (reply['action']['data']['status'], asked) == ('OK', [])


def test_node_whose_address_cannot_be_looked_up_fails_and_others_leave(lab, web):
    """A node whose address cannot be looked up fails if members were left behind; others leave."""
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
def test_dry_run_counts_a_member_left_behind(lab, dry_run):
    """A dry run counts a member at a reused address among the members to remove."""
    policy, _ = lab.attached([connected(1)])

    reply = lab.check(
        request('NODE_DELETE', [policy], [reusing(9)], node=reusing(9), dry_run=dry_run)
    )

    assert reply['decisions'][0]['details']['removed'] == ['n9']
    assert lab.addresses() == (['10.0.0.1'] if dry_run else [])


def test_removal_at_the_address_of_a_foreign_member_keeps_it(lab):
    """A foreign member at the address of a deleted node stays in the pool."""
    _, pool = lab.foreign('10.0.0.3')
    policy, _ = lab.attached([connected(1)], loadbalancer='front', pool={'id': pool})

    reply = lab.check(request('NODE_DELETE', [policy], [reusing(9, of=3)], node=reusing(9, of=3)))

    assert reply['decisions'][0]['details']['passed_over'] == ['n9']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.3']
