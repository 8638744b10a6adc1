"""Two load-balancing policies on one cluster: each decides by its own pool."""

import pytest

from tests.factories import bind, connected, load_balancing_policy
from tests.simulated_octavia import Lab, data_of
from tests.unit.policies.load_balancing.building_blocks import created, decision, ids_of
from tests.unit.policies.load_balancing.operations import TwoPolicies

SCALE_OUT, RECOVER = 'CLUSTER_SCALE_OUT', 'NODE_RECOVER'


@pytest.fixture(params=[True, False], ids=['batch', 'single'])
def two(request):
    return TwoPolicies(Lab(batch_members=request.param))


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


@pytest.mark.parametrize('is_detached', [False, True])
def test_data_that_earlier_versions_overwrote_are_repaired(two, is_detached):
    """If both policies wrote `lb_member`, each finds its members by tags, and keeps to its key; a
    detachment drops the record, because the pool says whose member it is.
    """
    ids = two.member_ids()
    two.members = [{**one, 'data': {'lb_member': ids[443, one['id']]}} for one in two.members]

    if is_detached:
        assert two.detach('b')['status'] == 'OK'
    else:
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
