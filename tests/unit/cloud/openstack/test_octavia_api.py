"""How Octavia's answers reach the driver."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from placement_worker.errors import ServiceFailed
from tests.unit.cloud.fake_services import answer, hang, reset

LBAAS = '/octavia/v2.0/lbaas'
TRUST = Credentials('trust-a')
MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'weight': 0, 'tags': ['n1'], 'backup': False}
LB = {
    'id': 'lb1',
    'name': 'x',
    'provisioning_status': 'ACTIVE',
    'tags': ['a'],
    'admin_state_up': False,
}


@pytest.fixture
def octavia(clouds, services):
    made = clouds.acting_for(TRUST, 'project-a').octavia(None)
    made.find('loadbalancer')
    services.seen.clear()
    return made


CALLS = {
    'find': (lambda octavia: octavia.find('pool', name='p'), 'GET', '/pools'),
    'show': (lambda octavia: octavia.show('loadbalancer', 'lb1'), 'GET', '/loadbalancers/lb1'),
    'create': (
        lambda octavia: octavia.create('loadbalancer', {'name': 'x'}),
        'POST',
        '/loadbalancers',
    ),
    'delete': (
        lambda octavia: octavia.delete('loadbalancer', 'lb1', cascade=True),
        'DELETE',
        '/loadbalancers/lb1',
    ),
    'members': (lambda octavia: octavia.members('p1'), 'GET', '/pools/p1/members'),
    'create_member': (
        lambda octavia: octavia.create_member('p1', MEMBER),
        'POST',
        '/pools/p1/members',
    ),
    'delete_member': (
        lambda octavia: octavia.delete_member('p1', 'm1'),
        'DELETE',
        '/pools/p1/members/m1',
    ),
    'update_members': (
        lambda octavia: octavia.update_members('p1', [MEMBER], additive_only=True),
        'PUT',
        '/pools/p1/members',
    ),
}
CALL = pytest.mark.parametrize(('call', 'method', 'path'), CALLS.values(), ids=CALLS.keys())
CHANGES = {name: CALLS[name] for name in ('delete', 'delete_member', 'update_members')}


@CALL
@pytest.mark.parametrize('status', [400, 403, 404, 409, 429, 500, 501, 502, 503, 504])
def test_a_refusal_is_told_with_its_status_and_words_after_one_request(
    octavia, services, call, method, path, status
):
    services.fail(
        LBAAS + path,
        answer(status, {'faultcode': 'Client', 'faultstring': 'Not so.'}, Retry_After='3'),
    )

    with pytest.raises(ApiError, match=f'^HTTP {status} .*: Not so$') as failed:
        call(octavia)

    assert (failed.value.status, failed.value.retry_after_s) == (status, 3)
    assert [one[:2] for one in services.seen] == [(method, LBAAS + path)]


@CALL
def test_without_an_answer_nobody_knows_what_came_of_a_call(octavia, services, call, method, path):
    services.fail(LBAAS + path, reset)

    with pytest.raises(ApiError, match='closed without a response') as failed:
        call(octavia)

    assert failed.value.status is None
    assert len(services.seen) == 1


@pytest.mark.parametrize('body', ['{"loadb', b'\xff', '', 'null', '[]', '{"pools": 1}'])
@pytest.mark.parametrize('name', ['find', 'show', 'create', 'members', 'create_member'])
def test_an_answer_that_makes_no_sense_is_none(octavia, services, name, body):
    call, _, path = CALLS[name]
    services.fail(LBAAS + path, answer(200, body))

    with pytest.raises(ApiError) as failed:
        call(octavia)

    assert failed.value.status is None


@pytest.mark.parametrize(('call', 'method', 'path'), CHANGES.values(), ids=CHANGES.keys())
def test_changes_need_no_body_in_the_answer(octavia, services, call, method, path):
    services.fail(LBAAS + path, answer(202))

    assert call(octavia) is None


def test_objects_have_the_names_of_the_api(octavia, services):
    services.fail('/loadbalancers', answer(202, {'loadbalancer': LB}))

    made = octavia.create(
        'loadbalancer',
        {'name': 'x', 'vip_subnet_id': 's', 'tags': ['a'], 'listeners': [{'name': 'l'}]},
    )

    assert made | LB == made
    assert services.bodies[-1] == {
        'loadbalancer': {
            'name': 'x',
            'vip_subnet_id': 's',
            'tags': ['a'],
            'listeners': [{'name': 'l'}],
        }
    }


def test_members_are_changed_in_one_request_with_every_field_that_is_given(octavia, services):
    octavia.update_members('p1', [MEMBER], additive_only=True)
    octavia.update_members('p1', [MEMBER], additive_only=False)

    assert services.seen == [
        ('PUT', f'{LBAAS}/pools/p1/members', {'additive_only': 'true'}),
        ('PUT', f'{LBAAS}/pools/p1/members', {}),
    ]
    assert services.bodies[-2:] == [{'members': [MEMBER]}] * 2


def test_a_load_balancer_goes_with_its_children_if_told(octavia, services):
    services.fail('/lb1', answer(204), answer(204))

    octavia.delete('loadbalancer', 'lb1', cascade=True)
    octavia.delete('loadbalancer', 'lb1')

    assert [query.get('cascade') for _, _, query in services.seen] == ['True', None]


@pytest.mark.parametrize(('kind', 'path', 'key'), [
    ('loadbalancer', 'loadbalancers', 'loadbalancers'),
    ('listener', 'listeners', 'listeners'), ('pool', 'pools', 'pools'),
    ('healthmonitor', 'healthmonitors', 'healthmonitors'), ('flavor', 'flavors', 'flavors'),
    ('availability_zone', 'availabilityzones', 'availability_zones'),
])  # fmt: skip
def test_all_pages_are_found_with_all_filters(octavia, services, kind, path, key):
    more = [{'rel': 'next', 'href': 'http://elsewhere/'}]
    first = {key: [{'id': 'a', 'name': 'x'}], f'{key}_links': more}
    services.fail(
        f'{LBAAS}/{path}', answer(200, first), answer(200, {key: [{'id': 'b', 'name': 'x'}]})
    )

    found = octavia.find(kind, name='x', loadbalancer_id='lb1')

    assert [one['id'] for one in found] == ['a', 'b']
    asked = {'name': 'x', 'loadbalancer_id': 'lb1'}
    assert [query for _, _, query in services.seen] == [asked, {**asked, 'marker': 'a'}]


@pytest.mark.parametrize(('kind', 'path', 'found'), [
    ('flavor', 'flavors/f1', {'id': 'f1', 'name': 'small', 'enabled': True}),
    ('availability_zone', 'availabilityzones/az1', {'name': 'az1', 'enabled': True}),
])  # fmt: skip
def test_what_has_no_status_is_shown_without_one(octavia, services, kind, path, found):
    services.fail(f'{LBAAS}/{path}', answer(200, {kind: found}), answer(404))

    shown = octavia.show(kind, path.partition('/')[2])

    assert shown | found == shown
    with pytest.raises(ApiError) as failed:
        octavia.show(kind, path.partition('/')[2])
    assert failed.value.status == 404


@CALL
def test_a_trust_that_is_gone_is_no_missing_object(octavia, services, call, method, path):
    """Keystone's 404 must not look as if Octavia had nothing to delete."""
    services.tokens.clear()
    del services.trusts['trust-a']

    with pytest.raises(ApiError, match='check that the trust exists') as failed:
        call(octavia)

    assert failed.value.status == 401


def test_a_call_has_a_time_out_of_its_own(make_clouds, services):
    clouds = make_clouds(request_timeout_s=0.3)
    octavia = clouds.acting_for(TRUST, 'project-a').octavia(None)
    octavia.find('pool')
    services.fail('/pools', hang)

    with pytest.raises(ApiError, match='not respond in time') as failed:
        octavia.find('pool')

    assert failed.value.status is None


def test_a_region_without_octavia_is_told(clouds):
    with pytest.raises(ServiceFailed, match='no load-balancer service in region Nowhere'):
        clouds.acting_for(TRUST, 'project-a').octavia('Nowhere')


def test_no_call_asks_more_than_it_says(clouds, services):
    octavia = clouds.acting_for(TRUST, 'project-a').octavia(None)
    octavia.find('pool')
    octavia.find('pool')

    assert [path for _, path, _ in services.seen] == [
        '/v3/auth/tokens',
        f'{LBAAS}/pools',
        f'{LBAAS}/pools',
    ]
