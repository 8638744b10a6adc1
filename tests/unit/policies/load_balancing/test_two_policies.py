"""Two load-balancing policies on one cluster: each decides by its own pool."""

import pytest

from tests.factories import bind, connected, load_balancing_policy
from tests.simulated_octavia import Lab, data_of
from tests.unit.policies.load_balancing.building_blocks import (
    Refusal,
    created,
    decision,
    ids_of,
    recreated,
    status,
)
from tests.unit.policies.load_balancing.operations import TwoPolicies

SCALE_OUT, RECOVER = 'CLUSTER_SCALE_OUT', 'NODE_RECOVER'


@pytest.fixture(params=[True, False], ids=['batch', 'single'])
def two(request):
    return TwoPolicies(Lab(batch_members=request.param))


def test_first_policy_that_fails_leaves_the_recovery_to_a_repetition(two):
    """`recovery` goes after the last load-balancing policy, so a failure of the first keeps it."""
    two.members[0] = recreated(two.members[0])
    two.lab.around = Refusal(0)

    two.after(RECOVER, node=two.members[0])

    assert two.members[0]['data']['recovery'] == 'RECREATE'
    two.lab.around = lambda call: call.act()
    assert status(two.after(RECOVER, node=two.members[0]))[0] == 'OK'
    assert two.is_right()


@pytest.mark.parametrize('name', ['a', 'b'])
def test_recovery_adds_a_node_that_is_missing_in_one_pool(two, name):
    """A recovered node that only one pool has joins the other one."""
    two.lose(name, 'n1')

    reply = two.after(RECOVER, node=two.members[0])

    outcomes = {one['policy_id']: one['outcome'] for one in reply['decisions']}
    assert outcomes == {'a': 'SKIPPED', 'b': 'SKIPPED', name: 'APPLIED'}
    assert two.is_right()


@pytest.mark.parametrize('order', ['ab', 'ba'])
def test_detachment_removes_the_records_of_one_policy_alone(two, order):
    """Detaching either policy keeps what the other one recorded; afterwards nothing is left."""
    first, second = order
    kept = 80 if second == 'a' else 443
    recorded = {one['id']: one['data'] for one in two.members}

    assert two.detach(first)['status'] == 'OK'

    expected = {'lb_member'} if second == 'a' else {'lb_members'}
    assert data_of(two.members) == {
        node_id: {key: data[key] for key in expected} for node_id, data in recorded.items()
    }
    assert two.pools()[kept] == {'n1': '10.0.0.1', 'n2': '10.0.0.2'}
    assert two.detach(second)['status'] == 'OK'
    assert data_of(two.members) == {'n1': {}, 'n2': {}}
    assert two.lab.is_empty()


@pytest.mark.parametrize('count', [1, 8])
def test_updates_per_policy_do_not_depend_on_the_number_of_nodes(count):
    """Each policy changes its pool in one update, for any number of nodes."""
    two = TwoPolicies(Lab(), range(1, 10))
    ids = [f'n{number}' for number in range(11, 11 + count)]
    two.members += [connected(number) for number in range(11, 11 + count)]

    added = two.after(SCALE_OUT, data=created(*ids))
    removed = two.check('CLUSTER_SCALE_IN', data={'deletion': {'candidates': ids}})

    for reply in (added, removed):
        assert [one['details']['updates'] for one in reply['decisions']] == [1, 1]


def test_data_that_earlier_versions_overwrote_are_repaired(two):
    """If both policies wrote `lb_member`, each finds its members by tags, and keeps to its key."""
    ids = two.member_ids()
    two.members = [{**one, 'data': {'lb_member': ids[443, one['id']]}} for one in two.members]

    reply = two.check('CLUSTER_DEL_NODES', inputs={'candidates': ['n1', 'n2']})

    assert [one['details']['removed'] for one in reply['decisions']] == [['n1', 'n2']] * 2
    assert data_of(two.members) == {'n1': {}, 'n2': {}}


def test_policy_with_the_pool_of_another_one_leaves_its_members_alone(lab):
    """A policy attached to the pool of another one neither adopts nor removes its members."""
    own, members = lab.attached([connected(1)])
    ids = ids_of(own)
    existing = load_balancing_policy(loadbalancer=ids['loadbalancer'], pool={'id': ids['pool']})
    existing['id'] = 'existing'

    attached = lab.attach(bind(existing, members))
    existing['data'] = attached['policy']['data']
    detached = lab.detach(bind(existing, members, data={'loadbalancers': {own['id']: {}}}))

    assert (attached['status'], attached['nodes']) == ('OK', {})
    assert 'Node n1 gets no member' in attached['warnings'][0]
    assert (detached['status'], detached['nodes']) == ('OK', {})
    assert lab.addresses() == ['10.0.0.1']


def test_recovery_of_an_untouched_node_ends_after_the_last_policy(two):
    """Neither policy changes a node that was not created again; `recovery` is dropped."""
    data = two.members[0]['data']
    two.members[0] = {**two.members[0], 'data': {**data, 'recovery': 'REBOOT'}}

    reply = two.after(RECOVER, node=two.members[0])

    assert [one['outcome'] for one in reply['decisions']] == ['SKIPPED', 'SKIPPED']
    assert two.members[0]['data'] == data
    assert decision(reply)['details']['api_calls'] == 1
