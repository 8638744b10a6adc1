"""Tests for failing lookups before a change: all nodes fail with the cause."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import CloudUnavailable
from tests.factories import connected, node, request
from tests.simulated_octavia import patched

BUSY = 'Octavia responded with status 503: busy'
AWAY = 'Compute service unavailable'
NOT_ADDED, NOT_REMOVED = (
    'Failed in adding nodes into lb pool',
    'Failed in removing deleted node(s) from lb pool',
)


def refuse(name):
    """Have Octavia respond with 503 to all calls of this name."""

    def around(call):
        if call.name == name:
            raise ApiError('busy', 503)
        return call.act()

    return around


def away(*_):
    raise CloudUnavailable(AWAY)


@pytest.fixture(params=['own', 'existing'])
def web(lab, request):
    """A cluster of n1 and n2 behind a load balancer: policy and nodes."""
    properties = (
        {'loadbalancer': 'front', 'pool': {'id': lab.foreign()[1]}}
        if request.param == 'existing'
        else {}
    )
    policy, members = lab.attached([connected(1), connected(2)], **properties)
    if properties:  # as Senlin has stored it
        policy['data']['LoadBalancingPolicy']['data']['loadbalancer'] = 'front'
    return policy, members


def removal(policy, members, **more):
    return request(
        'CLUSTER_DEL_NODES', [policy], members, inputs={'candidates': ['n1', 'n2']}, **more
    )


def addition(policy, members, *node_ids, **more):
    created = {'creation': {'nodes': list(node_ids)}}
    return request('CLUSTER_ADD_NODES', [policy], members, target='AFTER', data=created, **more)


def details(reply):
    return reply['decisions'][-1]['details']


def test_failed_listing_marks_nodes_to_remove_and_keeps_their_members(lab, web):
    """If the members cannot be listed, the nodes to remove get a warning and keep their members."""
    policy, members = web
    lab.around = refuse('members')

    reply = lab.check(removal(*web))

    assert reply['action']['data']['reason'] == f"{NOT_REMOVED}: ['n1', 'n2'] (n1: {BUSY})"
    assert details(reply)['failed'] == {'n1': BUSY, 'n2': BUSY}
    assert details(reply)['pool'] == policy['data']['LoadBalancingPolicy']['data']['pool']
    assert details(reply)['api_calls'] >= 10
    assert reply['nodes'] == {
        one['id']: {
            'data': one['data'],
            'status': 'WARNING',
            'status_reason': 'Failed in removing node from lb pool.',
        }
        for one in members
    }


def test_failed_listing_marks_new_nodes_and_names_unknown_ones(lab, web):
    """If the members cannot be listed, the new nodes get a warning, and unknown ids are named."""
    policy, members = web
    lab.around = refuse('members')

    reply = lab.check(addition(policy, [*members, connected(3, data={'x': 1})], 'n9', 'n3'))

    assert reply['action']['data']['reason'] == (
        f"{NOT_ADDED}: ['n9', 'n3'] (n9: The cluster has no such node)"
    )
    assert details(reply)['failed'] == {'n3': BUSY, 'n9': 'The cluster has no such node'}
    assert reply['nodes'] == {
        'n3': {
            'data': {'x': 1},
            'status': 'WARNING',
            'status_reason': 'Failed in adding node into lb pool.',
        }
    }


@pytest.mark.parametrize('web', ['existing'], indirect=True)
@pytest.mark.parametrize(
    ('asked', 'failed'),
    [(removal, NOT_REMOVED), (lambda *web: addition(*web, 'n1', 'n2'), NOT_ADDED)],
)
def test_failed_lookup_of_the_load_balancer_marks_all_nodes(lab, web, asked, failed):
    """If the load balancer cannot be looked up, all nodes get a warning."""
    lab.around = refuse('show')

    reply = lab.check(asked(*web))

    assert reply['action']['data']['reason'] == f"{failed}: ['n1', 'n2'] (n1: {BUSY})"
    assert details(reply)['failed'] == {'n1': BUSY, 'n2': BUSY}
    assert {one['status'] for one in reply['nodes'].values()} == {'WARNING'}


@pytest.mark.parametrize('away_for', ['subnet', 'servers'])
def test_failed_lookup_of_addresses_marks_all_nodes(lab, web, away_for):
    """If addresses cannot be looked up, all nodes get a warning."""
    policy, members = web
    setattr(lab, away_for, away)

    reply = lab.check(addition(policy, [*members, node(3, physical_id='s3')], 'n3'))

    assert reply['action']['data']['reason'] == f"{NOT_ADDED}: ['n3'] (n3: {AWAY})"
    assert details(reply)['failed'] == {'n3': AWAY}
    assert reply['nodes']['n3']['status'] == 'WARNING'


def test_failed_listing_keeps_the_member_of_a_recovered_node(lab, web):
    """If the members cannot be listed, a recovered node keeps its member and gets a warning."""
    policy, members = web
    recreated = {**connected(9), 'id': 'n1', 'data': {**members[0]['data'], 'recovery': 'RECREATE'}}
    lab.around = refuse('members')

    reply = lab.check(
        request('NODE_RECOVER', [policy], [recreated, *members[1:]], node=recreated, target='AFTER')
    )

    assert reply['nodes']['n1']['data'] == members[0]['data']
    assert reply['nodes']['n1']['status'] == 'WARNING'


@pytest.mark.parametrize(
    'asked', [removal, lambda *web, **more: addition(*web, 'n1', 'n2', **more)]
)
def test_dry_run_with_a_failed_listing_names_the_cause_and_marks_no_node(lab, web, asked):
    """A dry run that fails names the cause and changes no node."""
    lab.around = refuse('members')

    reply = lab.check(asked(*web, dry_run=True))

    assert reply['action']['data']['status'] == 'ERROR'
    assert details(reply)['failed'] == {'n1': BUSY, 'n2': BUSY}
    assert reply['nodes'] == {}


def test_retry_after_a_failed_listing_removes_the_members(lab, web):
    """The members are removed once Octavia responds again."""
    policy, members = web
    lab.around = refuse('members')
    left = patched(members, lab.check(removal(*web)))
    lab.around = lambda call: call.act()

    assert lab.check(removal(policy, left))['action']['data']['status'] == 'OK'
    assert lab.addresses() == []
