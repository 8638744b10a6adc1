"""The node to which a member belongs if addresses were used again, and how it is changed."""

import pytest

from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import Lab, patched
from tests.unit.policies.load_balancing.building_blocks import (
    OURS,
    after,
    at,
    created,
    decision,
    ids_of,
    left,
    member_ids,
    recreated,
    status,
    writes,
)

SCALE_OUT, RECOVER, DELETE = 'CLUSTER_SCALE_OUT', 'NODE_RECOVER', 'NODE_DELETE'


@pytest.fixture(params=['batch', 'single', 'refused batch'])
def lab(request):
    """A worker over a provider with batches, one without them, and one that refuses them."""
    lab = Lab(batch_members=request.param != 'single')
    if request.param == 'refused batch':
        lab.fail = [{'call': 'update_members', 'status': 501, 'times': -1}]
    return lab


def moved(one, number):
    return {**one, 'details': connected(number)['details']}


def state_of(lab, address):
    """Return the member at an address, as far as a policy decides about it."""
    (member,) = [one for one in lab.settled()['member'] if one['address'] == address]
    node = next(tag.rpartition('=')[2] for tag in member['tags'] if ':node=' in tag)
    keys = ('name', 'weight', 'admin_state_up', 'provisioning_status')
    return node, *(member[key] for key in keys)


def added(lab, policy, members, *node_ids):
    """Check after a scale-out by these nodes; return the reply and the nodes with its patches."""
    reply = lab.check(after(SCALE_OUT, [policy], members, data=created(*node_ids)))
    assert status(reply)[0] == 'OK'
    return reply, patched(members, reply)


LEFT_BEHIND = [
    {'weight': 0},
    {'admin_state_up': False},
    {'provisioning_status': 'ERROR'},
    {'weight': 0, 'admin_state_up': False, 'name': 'x', 'backup': True},
    {},
]


@pytest.mark.parametrize('values', LEFT_BEHIND)
@pytest.mark.parametrize('is_attached_again', [False, True])
def test_member_left_behind_is_brought_to_the_wanted_state(lab, web, values, is_attached_again):
    """A new node at the address of a deleted one takes over its member, which gets traffic."""
    policy, members = web
    lab.change_member('10.0.0.1', **values)
    members = [members[1], at(9, 1)]
    lab.calls.clear()

    if is_attached_again:
        members = patched(members, lab.attach(bind(policy, members)))
    else:
        reply, members = added(lab, policy, members, 'n9')
        assert decision(reply)['reason'] == '1 added'

    assert state_of(lab, '10.0.0.1') == ('n9', 'n9', 1, True, 'ACTIVE')
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']
    assert members[1]['data'] == {'lb_member': member_ids(lab)['n9']}
    if lab.batch_members and not lab.fail:
        assert writes(lab) == ['update_members']


@pytest.mark.parametrize('repaired', [SCALE_OUT, RECOVER, 'attach'])
def test_drained_member_of_a_live_node_stays_drained(lab, web, repaired):
    """A check keeps the weight and the administrative state that an operator gave a member."""
    policy, members = web
    lab.change_member('10.0.0.1', weight=0, admin_state_up=False)
    lab.calls.clear()

    if repaired == 'attach':
        lab.attach(bind(policy, members))
    elif repaired == RECOVER:
        lab.check(after(RECOVER, [policy], members, node=recreated(members[0], 1)))
    else:
        added(lab, policy, members, 'n1')

    assert state_of(lab, '10.0.0.1') == ('n1', 'n1', 0, False, 'ACTIVE')
    assert writes(lab) == []


@pytest.mark.parametrize('data', [None, {}])
def test_own_member_in_error_is_repaired_with_its_settings(lab, web, data):
    """The member of a live node in ERROR is written again, and keeps its weight."""
    policy, members = web
    lab.change_member('10.0.0.1', weight=3, provisioning_status='ERROR')
    members[0] = {**members[0], 'data': members[0]['data'] if data is None else data}

    reply, members = added(lab, policy, members, 'n1')

    assert decision(reply)['reason'] == '1 added'
    assert state_of(lab, '10.0.0.1') == ('n1', 'n1', 3, True, 'ACTIVE')
    assert members[0]['data'] == {'lb_member': member_ids(lab)['n1']}


def test_stale_member_of_a_live_node_belongs_to_the_node_at_its_address(lab, web):
    """n5 takes over the member at the old address of n1, which gets its own; each leaves alone."""
    policy, members = web
    members = [moved(members[0], 101), members[1], at(5, 1)]

    reply, members = added(lab, policy, members, 'n5')

    assert state_of(lab, '10.0.0.1') == ('n5', 'n5', 1, True, 'ACTIVE')
    assert state_of(lab, '10.0.0.101') == ('n1', 'n1', 1, True, 'ACTIVE')
    ids = member_ids(lab)
    assert [one['data']['lb_member'] for one in members] == [ids['n1'], ids['n2'], ids['n5']]
    assert sorted(decision(reply)['details']['added']) == ['n1', 'n5']
    lab.check(request(DELETE, [policy], members, node=members[0]))
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


def test_node_whose_member_another_node_takes_over_does_not_record_it_any_more():
    """n5 has the address of n1, whose own address is unknown, so n1 has no member."""
    lab = Lab()
    policy, members = lab.attached([connected(1), connected(2)])
    members = [{**members[0], 'details': {}}, members[1], at(5, 1)]

    _, members = added(lab, policy, members, 'n5')

    assert state_of(lab, '10.0.0.1') == ('n5', 'n5', 1, True, 'ACTIVE')
    assert members[0]['data'] == {}


def test_servers_that_exchanged_their_addresses_exchange_their_members(lab, web):
    """Members follow a chain of nodes that each have the old address of another one."""
    policy, members = web
    members = [moved(members[0], 2), moved(members[1], 3), at(5, 1)]

    added(lab, policy, members, 'n5')

    owners = {one['address']: state_of(lab, one['address'])[0] for one in lab.settled()['member']}
    assert owners == {'10.0.0.1': 'n5', '10.0.0.2': 'n1', '10.0.0.3': 'n2'}


@pytest.mark.parametrize(('leaving', 'stays'), [('n1', ['n1', 'n2']), ('n5', ['n2'])])
def test_contested_member_leaves_with_the_node_at_its_address(lab, web, leaving, stays):
    """A member that two nodes recorded, as before, leaves with the node at its address."""
    policy, members = web
    recorded = {'data': dict(members[0]['data'])}
    members = [moved(members[0], 101), members[1], {**at(5, 1), **recorded}]
    one = next(node for node in members if node['id'] == leaving)

    reply = lab.check(request(DELETE, [policy], members, node=one))

    assert status(reply)[0] == 'OK'
    assert left(lab) == stays
    assert reply['nodes'] == {leaving: {'data': {}}}


def test_node_without_a_known_address_keeps_its_member(lab, web):
    """A member is neither removed nor replaced if the address of its node is unknown."""
    policy, members = web
    members = [{**members[0], 'details': {}}, members[1]]

    reply, _ = added(lab, policy, members, 'n1', 'n2')

    assert decision(reply)['details']['already_there'] == ['n2', 'n1']
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2']


@pytest.fixture
def made_by_senlin(lab):
    """A pool of Senlin, whose objects have no tags: policy and nodes, of which n2 lost its id."""
    lb, pool = lab.foreign('10.0.0.1', '10.0.0.2')
    ids = {one['address']: one['id'] for one in lab.settled()['member']}
    listener = lab.settled()['listener'][0]['id']
    stored = {'loadbalancer': lb, 'listener': listener, 'pool': pool}
    data = {'LoadBalancingPolicy': {'version': 1.1, 'data': stored}}
    members = [connected(1, data={'lb_member': ids['10.0.0.1']}), connected(2)]
    return load_balancing_policy(data=data), members


def test_members_of_senlin_are_found_by_address_in_an_own_pool(lab, made_by_senlin):
    """Members without tags leave with the node at their address."""
    policy, members = made_by_senlin

    for one in members:
        assert status(lab.check(request(DELETE, [policy], members, node=one)))[0] == 'OK'

    assert lab.addresses() == []


def test_member_of_senlin_at_a_reused_address_is_taken_over(lab, made_by_senlin):
    """A member without tags that no node records gets the state and the tags of a new node."""
    policy, members = made_by_senlin
    lab.change_member('10.0.0.2', weight=0)

    added(lab, policy, [members[0], at(9, 2)], 'n9')

    assert state_of(lab, '10.0.0.2') == ('n9', 'n9', 1, True, 'ACTIVE')


def test_attaching_again_keeps_the_load_balancer_of_senlin(lab, made_by_senlin):
    """Attaching again repairs the load balancer of the binding, and creates no second one."""
    policy, members = made_by_senlin
    before = ids_of(policy)

    reply = lab.attach(bind(policy, [*members, connected(3)]))

    assert reply['status'] == 'OK', reply['reason']
    assert ids_of(reply['policy']) == before
    assert len(lab.settled()['loadbalancer']) == 1
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2', '10.0.0.3']
    assert lab.detach(bind(reply['policy'] | {'spec': policy['spec']}, members))['status'] == 'OK'
    assert lab.is_empty()


def test_tags_of_other_clients_stay_at_a_repaired_member(lab):
    """A repaired member keeps the tags that others gave it."""
    policy, members = lab.attached([connected(1)])
    tags = ['green', *OURS, 'placement-worker:node=n1']
    lab.change_member('10.0.0.1', provisioning_status='ERROR', tags=tags)

    added(lab, policy, members, 'n1')

    assert lab.settled()['member'][0]['tags'] == tags
