"""Calls of Octavia's API and the errors that they raise."""

import pytest

from placement_worker.cloud.ports import ApiError
from tests.unit.cloud.fake_services import TRUST, reset, respond

LBAAS = '/octavia/v2.0/lbaas'
MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'weight': 0, 'tags': ['n1'], 'backup': False}
LB = {'id': 'lb1', 'provisioning_status': 'ACTIVE', 'tags': ['a'], 'admin_state_up': False}


@pytest.fixture
def octavia(clouds, services):
    """Return the API of a region after its first request."""
    made = clouds.acting_for(TRUST, 'project-a').octavia(None)
    made.find('loadbalancer')
    services.seen.clear()
    return made


CALLS = {
    'find': (lambda api: api.find('pool', name='p'), 'GET', '/pools'),
    'show': (lambda api: api.show('loadbalancer', 'lb1'), 'GET', '/loadbalancers/lb1'),
    'create': (lambda api: api.create('loadbalancer', {'name': 'x'}), 'POST', '/loadbalancers'),
    'delete': (lambda api: api.delete('loadbalancer', 'lb1', cascade=True),
               'DELETE', '/loadbalancers/lb1'),
    'members': (lambda api: api.members('p1'), 'GET', '/pools/p1/members'),
    'create_member': (lambda api: api.create_member('p1', MEMBER), 'POST', '/pools/p1/members'),
    'delete_member': (lambda api: api.delete_member('p1', 'm1'), 'DELETE', '/pools/p1/members/m1'),
    'update_members': (lambda api: api.update_members('p1', [MEMBER], additive_only=True),
                       'PUT', '/pools/p1/members'),
}  # fmt: skip
CALL = pytest.mark.parametrize(('call', 'method', 'path'), CALLS.values(), ids=CALLS.keys())
CHANGES = {name: CALLS[name] for name in ('delete', 'delete_member', 'update_members')}


@CALL
@pytest.mark.parametrize('status', [400, 403, 404, 409, 429, 500, 501, 503, None])
def test_call_that_fails_raises_status_and_message(octavia, services, call, method, path, status):
    """An error has the request and Octavia's status and message, and the call is not retried."""
    body = {'faultcode': 'Client', 'faultstring': 'Not so.'}
    services.fail(LBAAS + path, respond(status, body, Retry_After='3') if status else reset)
    cause = f'HTTP {status} .*: Not so$' if status else '.* closed without a response'
    message = f'^{method} /v2/lbaas{path}: {cause}'

    with pytest.raises(ApiError, match=message) as failed:
        call(octavia)

    assert (failed.value.status, failed.value.retry_after_s) == (status, 3 if status else None)
    assert [one[:2] for one in services.seen] == [(method, LBAAS + path)]


@pytest.mark.parametrize('body', ['{"loadb', b'\xff', '', 'null', '[]', '{"pools": 1}'])
@pytest.mark.parametrize('name', ['find', 'show', 'create', 'members', 'create_member'])
def test_call_with_invalid_response_has_no_status(octavia, services, name, body):
    """An invalid response raises an error without a status."""
    call, _, path = CALLS[name]
    services.fail(LBAAS + path, respond(200, body))

    with pytest.raises(ApiError) as failed:
        call(octavia)

    assert failed.value.status is None


@pytest.mark.parametrize(('call', 'method', 'path'), CHANGES.values(), ids=CHANGES.keys())
def test_change_accepts_response_without_body(octavia, services, call, method, path):
    """Deletions and updates succeed without a body in the response."""
    services.fail(LBAAS + path, respond(202))

    assert call(octavia) is None


BODY = {'name': 'x', 'vip_subnet_id': 's', 'tags': ['a'], 'listeners': [{'name': 'l'}]}


@pytest.mark.parametrize(
    ('call', 'query', 'body'),
    [
        (lambda api: api.create('loadbalancer', BODY), {}, {'loadbalancer': BODY}),
        (lambda api: api.update_members('p1', [MEMBER], additive_only=True),
         {'additive_only': 'true'}, {'members': [MEMBER]}),
        (lambda api: api.update_members('p1', [MEMBER], additive_only=False), {},
         {'members': [MEMBER]}),
        (lambda api: api.delete('loadbalancer', 'lb1', cascade=True), {'cascade': 'True'}, {}),
        (lambda api: api.delete('loadbalancer', 'lb1'), {}, {}),
    ],
)  # fmt: skip
def test_change_sends_one_request_with_names_of_the_api(octavia, services, call, query, body):
    """Requests and results use the keys of the API, not those of openstacksdk."""
    services.fail('/loadbalancers', respond(202, {'loadbalancer': LB}))

    made = call(octavia)

    assert made is None or made | LB == made
    assert [(sent, services.bodies[-1]) for _, _, sent in services.seen] == [(query, body)]


@pytest.mark.parametrize(('kind', 'path', 'key'), [
    ('loadbalancer', 'loadbalancers', 'loadbalancers'),
    ('listener', 'listeners', 'listeners'), ('pool', 'pools', 'pools'),
    ('healthmonitor', 'healthmonitors', 'healthmonitors'), ('flavor', 'flavors', 'flavors'),
    ('availability_zone', 'availabilityzones', 'availability_zones'),
])  # fmt: skip
def test_find_sends_all_filters_with_each_page(octavia, services, kind, path, key):
    """A listing follows all pages and sends all filters with each request."""
    more = [{'rel': 'next', 'href': 'http://elsewhere/'}]
    first = {key: [{'id': 'a', 'name': 'x'}], f'{key}_links': more}
    services.fail(
        f'{LBAAS}/{path}', respond(200, first), respond(200, {key: [{'id': 'b', 'name': 'x'}]})
    )

    found = octavia.find(kind, name='x', loadbalancer_id='lb1')

    assert [one['id'] for one in found] == ['a', 'b']
    asked = {'name': 'x', 'loadbalancer_id': 'lb1'}
    assert [query for _, _, query in services.seen] == [asked, {**asked, 'marker': 'a'}]


@pytest.mark.parametrize(('kind', 'path', 'found'), [
    ('flavor', 'flavors/f1', {'id': 'f1', 'name': 'small', 'enabled': True}),
    ('availability_zone', 'availabilityzones/az1', {'name': 'az1', 'enabled': True}),
])  # fmt: skip
def test_show_of_flavor_or_zone_needs_no_status(octavia, services, kind, path, found):
    """Flavors and availability zones are returned without a provisioning status."""
    services.fail(f'{LBAAS}/{path}', respond(200, {kind: found}), respond(404))

    shown = octavia.show(kind, path.partition('/')[2])

    assert shown | found == shown
    with pytest.raises(ApiError) as failed:
        octavia.show(kind, path.partition('/')[2])
    assert failed.value.status == 404


@CALL
def test_call_with_deleted_trust_has_status_unauthorized(octavia, services, call, method, path):
    """A status 404 of Keystone does not look like a missing object of Octavia."""
    services.tokens.clear()
    del services.trusts['trust-a']

    with pytest.raises(ApiError, match='check that the trust exists') as failed:
        call(octavia)

    assert failed.value.status == 401
