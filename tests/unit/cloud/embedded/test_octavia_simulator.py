"""The simulated Octavia: its calls and state machine, injected faults, and stores."""

import copy
import threading

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import (
    Fault,
    FileStore,
    MemoryStore,
    OctaviaSimulator,
    Settings,
)
from placement_worker.cloud.embedded.state_machine import KINDS
from placement_worker.cloud.ports import ApiError
from tests.simulated_octavia import Clock

NESTED = {
    'name': 'lb',
    'tags': ['mine'],
    'vip_subnet_id': 'sub1',
    'listeners': [
        {
            'protocol': 'HTTP',
            'protocol_port': 80,
            'default_pool': {
                'name': 'pool',
                'protocol': 'HTTP',
                'healthmonitor': {'type': 'PING'},
                'members': [{'address': '10.0.0.1', 'protocol_port': 80}],
            },
        }
    ],
}


def status(octavia, kind, object_id):
    return octavia.show(kind, object_id)['provisioning_status']


def member(number, **more):
    """Return the body of a member whose address ends in this number."""
    return {'address': f'10.0.0.{number}', 'protocol_port': 80, **more}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def octavia(clock):
    """A simulator in which each change takes 2 s."""
    subnets = {'sub1': '10.0.0.0/24'}
    return OctaviaSimulator(Settings(pending_s=2), MemoryStore(), subnets, 'R1', now=clock)


@pytest.fixture
def built(octavia, clock):
    lb = octavia.create('loadbalancer', NESTED)
    clock.sleep(2)
    return lb['id'], lb['pools'][0]['id']


def simulator(clock, *faults):
    """Return a simulator with these faults, in which each change takes 1 s."""
    description = {'load_balancer': {'pending_s': 1, 'fail': list(faults)}}
    settings = Inventory.parse(description, 'test').load_balancer
    return OctaviaSimulator(settings, MemoryStore(), None, 'R1', now=clock)


def test_find_with_several_filters_returns_objects_that_match_all(octavia, built):
    """A listing contains the objects that match all filters and have all requested tags."""
    octavia.create('loadbalancer', {'name': 'other', 'tags': ['mine', 'x']})

    assert [one['name'] for one in octavia.find('loadbalancer', tags=['mine'])] == ['lb', 'other']
    assert [one['name'] for one in octavia.find('loadbalancer', tags=['x', 'mine'])] == ['other']
    assert octavia.find('loadbalancer', name='lb', tags=['x']) == []


@pytest.mark.parametrize(
    ('fault', 'status', 'message'),
    [
        ({'call': 'create', 'status': 503}, 503, 'Octavia is busy'),
        ({'status': 403}, 403, 'Quota has been met for resources: member'),
        ({'kind': 'loadbalancer', 'status': 501}, 501,
         'The provider does not support the requested option'),
        ({'status': 0}, None, 'The connection broke'),
        ({'status': 418}, 418, 'Fault 418'),
        ({'status': 400, 'message': 'so'}, 400, 'so'),
        ({}, 500, 'Fault 500'),
    ],
)  # fmt: skip
def test_call_with_fault_fails_without_effect(clock, fault, status, message):
    """A call to which a fault applies fails with the request and the fault's status and message,
    and changes nothing.
    """
    octavia = simulator(clock, fault)

    with pytest.raises(ApiError) as failed:
        octavia.create('loadbalancer', {'name': 'a'})

    text = f'POST /v2/lbaas/loadbalancers: {message}'
    assert (failed.value.status, str(failed.value)) == (status, text)
    assert octavia.find('loadbalancer') == []


def test_call_with_done_fault_takes_effect(clock):
    """A fault with `done` makes the change although the call fails."""
    octavia = simulator(clock, {'call': 'create', 'status': 429, 'done': True, 'retry_after_s': 3})

    with pytest.raises(ApiError) as failed:
        octavia.create('loadbalancer', {'name': 'a'})

    assert failed.value.retry_after_s == 3
    assert len(octavia.find('loadbalancer')) == 1


def test_fault_with_skip_and_times_applies_to_those_calls(clock):
    """A fault applies after `skip` matching calls, and then `times` times."""
    octavia = simulator(clock, {'call': 'find', 'kind': 'pool', 'skip': 1, 'times': 2})

    outcomes = []
    for _ in range(5):
        octavia.find('listener')
        try:
            outcomes.append(octavia.find('pool'))
        except ApiError as exc:
            outcomes.append(exc.status)

    assert outcomes == [[], 500, 500, [], []]


def test_fault_with_becomes_breaks_load_balancer(clock):
    """A fault with `becomes` lets the change succeed and its load balancer end in ERROR."""
    octavia = simulator(clock, {'call': 'create', 'becomes': 'ERROR'})

    lb = octavia.create('loadbalancer', NESTED)
    assert lb['provisioning_status'] == 'PENDING_CREATE'
    clock.sleep(1)

    assert status(octavia, 'loadbalancer', lb['id']) == 'ERROR'
    with pytest.raises(ApiError, match='immutable'):
        octavia.create_member(lb['pools'][0]['id'], member(2))
    octavia.delete('loadbalancer', lb['id'], cascade=True)


@pytest.mark.parametrize('kind', ['flavor', 'availability_zone'])
def test_show_of_flavor_or_zone_applies_faults(clock, kind):
    """Faults apply to lookups of flavors and availability zones too."""
    fault = Fault(call='show', kind=kind, status=503)
    octavia = OctaviaSimulator(
        Settings(fail=[fault], flavors=['f'], availability_zones=['f']), MemoryStore(), now=clock
    )

    for name, status_of_http in (('f', 503), ('g', 404)):
        with pytest.raises(ApiError) as failed:
            octavia.show(kind, name)
        assert failed.value.status == status_of_http
    assert octavia.show(kind, 'f')['name'] == 'f'


@pytest.fixture(params=['memory', 'file'])
def store(request, tmp_path):
    return MemoryStore() if request.param == 'memory' else FileStore(str(tmp_path / 'state.json'))


def test_changes_by_threads_are_serialized(store):
    """No change is lost if several threads use a store."""

    def count():
        for _ in range(50):
            with store.changing() as state:
                state['n'] = state.get('n', 0) + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with store.changing() as state:
        assert state == {'n': 200}


def test_interrupted_change_of_file_is_discarded(tmp_path):
    """A file keeps its content if a block raises an error."""
    store = FileStore(str(tmp_path / 'state.json'))

    def break_off():
        with store.changing() as state:
            state['half'] = True
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    with store.changing() as state:
        assert state == {}


@pytest.mark.parametrize(
    ('cidr', 'addresses'),
    [
        (None, ['198.51.100.1', '198.51.100.1']),
        ('10.0.0.0/24', ['10.0.0.254', '10.0.0.253']),
        ('10.0.0.0/30', ['10.0.0.2', '10.0.0.2']),
    ],
)
def test_virtual_ip_lies_within_the_subnet(cidr, addresses):
    """Virtual IPs are counted down from the end of the subnet, unless the body has one."""
    octavia = OctaviaSimulator(Settings(), subnets={'s': cidr})

    made = [octavia.create('loadbalancer', {'vip_subnet_id': 's'}) for _ in addresses]

    assert [one['vip_address'] for one in made] == addresses
    assert octavia.create('loadbalancer', {'vip_address': '10.9.9.9'})['vip_address'] == '10.9.9.9'


@pytest.mark.parametrize(
    'write',
    [
        lambda octavia, lb, pool: octavia.create(
            'listener', {'loadbalancer_id': lb, 'protocol_port': 81}
        ),
        lambda octavia, lb, pool: octavia.create('pool', {'loadbalancer_id': lb}),
        lambda octavia, lb, pool: octavia.create_member(pool, member(2)),
        lambda octavia, lb, pool: octavia.update_members(pool, [member(2)], additive_only=True),
        lambda octavia, lb, pool: octavia.delete_member(pool, octavia.members(pool)[0]['id']),
        lambda octavia, lb, pool: octavia.delete('pool', pool),
        lambda octavia, lb, pool: octavia.delete('loadbalancer', lb, cascade=True),
    ],
)
def test_change_during_another_change_is_refused(octavia, clock, built, write):
    """A load balancer refuses each change with status 409 while another change is pending."""
    octavia.update_members(built[1], [], additive_only=True)

    with pytest.raises(
        ApiError, match=r'immutable and cannot be updated|Invalid state PENDING_UPDATE'
    ) as refused:
        write(octavia, *built)

    assert refused.value.status == 409
    clock.sleep(2)
    write(octavia, *built)
    assert status(octavia, 'loadbalancer', built[0]).startswith('PENDING')


@pytest.mark.parametrize(
    ('kind', 'body', 'message'),
    [
        ('listener', {'loadbalancer_id': 0, 'protocol_port': 80}, 'already using protocol_port 80'),
        ('pool', {'listener_id': 'listener'}, 'This listener already has a default pool'),
        ('healthmonitor', {'pool_id': 1}, 'This pool already has a health monitor'),
    ],
)
def test_create_of_existing_child_is_refused(octavia, built, kind, body, message):
    """A child that exists already is refused with status 409 and changes nothing."""
    ids = {**dict(enumerate(built)), 'listener': octavia.find('listener')[0]['id']}

    with pytest.raises(ApiError, match=message) as refused:
        octavia.create(kind, {key: ids.get(value, value) for key, value in body.items()})

    assert refused.value.status == 409
    assert status(octavia, 'loadbalancer', built[0]) == 'ACTIVE'
    assert len(octavia.find(kind)) == 1


@pytest.mark.parametrize(
    ('call', 'code', 'message'),
    [
        (lambda octavia, pool: octavia.show('pool', 'p1'), 404,
         r'^GET /v2/lbaas/pools/p1: Pool p1 not found\.$'),
        (lambda octavia, pool: octavia.delete_member(pool, 'm1'), 404, 'm1 not found'),
        (lambda octavia, pool: octavia.create_member(pool, member(1)), 409,
         r'using ip 10\.0\.0\.1'),
        (lambda octavia, pool: octavia.update_members(pool, [member(2)] * 2, additive_only=True),
         400, 'Duplicate members'),
        (lambda octavia, pool: octavia.create('loadbalancer', {'vip_subnet_id': 'none'}), 400,
         'Subnet none not found'),
    ],
)  # fmt: skip
def test_call_that_octavia_refuses_has_its_status(octavia, built, call, code, message):
    """Missing objects, used addresses, duplicates and unknown subnets are refused as in Octavia."""
    with pytest.raises(ApiError, match=message) as refused:
        call(octavia, built[1])

    assert refused.value.status == code


def test_update_members_of_known_address_keeps_id_and_applies_defaults(octavia, clock, built):
    """An update keeps the id of a member and resets omitted fields to their defaults."""
    _, pool = built
    known = octavia.members(pool)[0]['id']
    octavia.update_members(pool, [member(1, weight=0), member(2)], additive_only=True)
    clock.sleep(2)
    assert octavia.members(pool)[0]['weight'] == 0
    octavia.update_members(pool, [member(1)], additive_only=True)
    clock.sleep(2)

    first, second = octavia.members(pool)
    assert (first['id'], first['weight'], second['address']) == (known, 1, '10.0.0.2')


@pytest.mark.parametrize(
    ('body', 'found', 'monitored', 'unmonitored'),
    [
        ({}, {}, 'ONLINE', 'NO_MONITOR'),
        ({}, {'10.0.0.1': 'ERROR', '10.0.0.2': 'OFFLINE'}, 'ERROR', 'NO_MONITOR'),
        ({'weight': 0}, {}, 'DRAINING', 'DRAINING'),
        ({'admin_state_up': False}, {'10.0.0.1': 'ERROR'}, 'OFFLINE', 'OFFLINE'),
    ],
)
def test_operating_status_depends_on_monitor_weight_and_state(body, found, monitored, unmonitored):
    """A health monitor finds the status, unless the member is disabled or has weight 0."""
    octavia = OctaviaSimulator(Settings(member_status=found))
    lb = octavia.create('loadbalancer', {})['id']
    pool = octavia.create('pool', {'loadbalancer_id': lb})['id']
    octavia.create_member(pool, member(1, **body))

    assert octavia.members(pool)[0]['operating_status'] == unmonitored
    octavia.create('healthmonitor', {'pool_id': pool})
    assert octavia.members(pool)[0]['operating_status'] == monitored


def test_delete_load_balancer_with_children_needs_cascade(octavia, clock, built):
    """Only a cascading delete removes a load balancer that has children, and then all of them."""
    with pytest.raises(ApiError, match='it has children') as refused:
        octavia.delete('loadbalancer', built[0])
    assert refused.value.status == 400

    octavia.delete('loadbalancer', built[0], cascade=True)
    assert status(octavia, 'loadbalancer', built[0]) == 'PENDING_DELETE'
    clock.sleep(2)
    assert [octavia.find(kind) for kind in KINDS] == [[]] * 4
    with pytest.raises(ApiError) as gone:
        octavia.members(built[1])
    assert gone.value.status == 404


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'vip_address': 'x'}, 'Expected an IP address, got `x`'),
        ({'vip_address': '10.9.9.9'}, 'Expected an IP address in 10.0.0.0/24, got `10.9.9.9`'),
        ({'listener': {'protocol': 'UDP'}}, 'A listener of protocol UDP takes a pool of'),
        ({'monitor': {'type': 'SCTP'}}, 'A pool of protocol HTTP takes a health monitor of type'),
        ({'monitor': {'type': 'HTTP', 'expected_codes': '2xx'}}, 'Expected codes such as'),
    ],
)
def test_load_balancer_that_octavia_refuses_is_refused_as_a_whole(octavia, change, reason):
    """A load balancer with values or protocols that Octavia refuses is not created."""
    body = copy.deepcopy(NESTED)
    listener = body['listeners'][0]
    listener |= change.get('listener', {})
    listener['default_pool']['healthmonitor'] |= change.get('monitor', {})

    with pytest.raises(ApiError, match=reason) as refused:
        octavia.create('loadbalancer', {**body, 'vip_address': change.get('vip_address')})

    assert (refused.value.status, octavia.find('loadbalancer')) == (400, [])
