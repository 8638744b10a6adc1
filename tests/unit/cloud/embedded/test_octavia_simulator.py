"""The embedded cloud's load balancers: Octavia's state machine, and the faults that are told to
happen.
"""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import Fault, OctaviaSimulator, Settings
from placement_worker.cloud.embedded.stores import MemoryStore
from placement_worker.cloud.ports import ApiError
from placement_worker.errors import InvalidInventory
from tests.simulated_octavia import Clock

TAGS = ['mine']
NESTED = {
    'name': 'lb',
    'tags': TAGS,
    'vip_subnet_id': 'sub1',
    'listeners': [
        {
            'protocol_port': 80,
            'default_pool': {
                'name': 'pool',
                'healthmonitor': {'type': 'PING'},
                'members': [{'address': '10.0.0.1', 'protocol_port': 80}],
            },
        }
    ],
}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def octavia(clock):
    return OctaviaSimulator(Settings(pending_s=2), MemoryStore(), {'sub1': '10.0.0.0/24'}, 'R1', now=clock)


@pytest.fixture
def built(octavia, clock):
    """A load balancer that is ready: its id and that of its pool."""
    lb = octavia.create('loadbalancer', NESTED)
    clock.sleep(2)
    return lb['id'], lb['pools'][0]['id']


def status(octavia, kind, object_id):
    return octavia.show(kind, object_id)['provisioning_status']


def member(number, **more):
    return {'address': f'10.0.0.{number}', 'protocol_port': 80, **more}


def test_a_load_balancer_with_children_is_pending_and_then_active(octavia, clock):
    lb = octavia.create('loadbalancer', NESTED)

    assert lb['provisioning_status'] == 'PENDING_CREATE'
    (pool,) = octavia.find('pool')
    assert octavia.members(pool['id'])[0]['provisioning_status'] == 'PENDING_CREATE'
    clock.sleep(2)
    assert {one['provisioning_status'] for kind in ('loadbalancer', 'listener', 'pool', 'healthmonitor') for one in
            octavia.find(kind)} == {'ACTIVE'}  # fmt: skip
    assert lb['vip_address'] == '10.0.0.254'
    assert lb['created_at'] == '2026-01-01T00:00:00'


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
def test_it_takes_one_change_at_a_time(octavia, clock, built, write):
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
        (
            'listener',
            {'loadbalancer_id': 0, 'protocol_port': 80},
            'is already using protocol_port 80',
        ),
        ('pool', {'listener_id': 'listener'}, 'This listener already has a default pool'),
        ('healthmonitor', {'pool_id': 1}, 'This pool already has a health monitor'),
    ],
)
def test_what_is_there_already_is_refused_and_leaves_it_active(octavia, built, kind, body, message):
    ids = {**dict(enumerate(built)), 'listener': octavia.find('listener')[0]['id']}

    with pytest.raises(ApiError, match=message) as refused:
        octavia.create(kind, {key: ids.get(value, value) for key, value in body.items()})

    assert refused.value.status == 409
    assert status(octavia, 'loadbalancer', built[0]) == 'ACTIVE'
    assert len(octavia.find(kind)) == 1


def test_a_member_that_is_there_already_is_refused(octavia, built):
    with pytest.raises(ApiError, match=r'already using ip 10\.0\.0\.1') as refused:
        octavia.create_member(built[1], member(1))

    assert refused.value.status == 409


def test_a_batch_changes_what_is_there_and_its_defaults_count(octavia, clock, built):
    _, pool = built
    known = octavia.members(pool)[0]['id']
    octavia.update_members(pool, [member(1, weight=0), member(2)], additive_only=True)
    clock.sleep(2)
    octavia.update_members(pool, [member(1)], additive_only=True)
    clock.sleep(2)

    first, second = octavia.members(pool)
    assert (first['id'], first['weight'], second['address']) == (known, 1, '10.0.0.2')


def test_a_batch_that_is_not_additive_deletes_what_it_does_not_list(octavia, clock, built):
    _, pool = built
    octavia.update_members(pool, [member(2)], additive_only=False)

    assert [one['provisioning_status'] for one in octavia.members(pool)] == [
        'PENDING_DELETE',
        'PENDING_CREATE',
    ]
    clock.sleep(2)
    assert [one['address'] for one in octavia.members(pool)] == ['10.0.0.2']


def test_the_same_member_twice_in_a_batch_is_refused(octavia, built):
    with pytest.raises(ApiError) as refused:
        octavia.update_members(built[1], [member(2), member(2)], additive_only=True)

    assert refused.value.status == 400


def test_only_a_cascade_deletes_a_load_balancer_with_children(octavia, clock, built):
    with pytest.raises(ApiError, match='it has children') as refused:
        octavia.delete('loadbalancer', built[0])
    assert refused.value.status == 400

    octavia.delete('loadbalancer', built[0], cascade=True)
    assert status(octavia, 'loadbalancer', built[0]) == 'PENDING_DELETE'
    clock.sleep(2)
    assert [
        octavia.find(kind) for kind in ('loadbalancer', 'listener', 'pool', 'healthmonitor')
    ] == [[]] * 4
    with pytest.raises(ApiError) as gone:
        octavia.members(built[1])
    assert gone.value.status == 404


def test_a_part_can_be_deleted_alone(octavia, clock, built):
    octavia.delete('healthmonitor', octavia.find('healthmonitor')[0]['id'])
    clock.sleep(2)

    assert octavia.find('healthmonitor') == []
    octavia.create('healthmonitor', {'pool_id': built[1], 'type': 'TCP'})


def test_what_is_found_fits_every_filter_and_all_tags(octavia, built):
    octavia.create('loadbalancer', {'name': 'other', 'tags': ['mine', 'x']})

    assert [one['name'] for one in octavia.find('loadbalancer', tags=['mine'])] == ['lb', 'other']
    assert [one['name'] for one in octavia.find('loadbalancer', tags=['x', 'mine'])] == ['other']
    assert octavia.find('loadbalancer', name='lb', tags=['x']) == []


def test_a_vip_in_a_subnet_that_is_not_there_is_refused(octavia):
    with pytest.raises(ApiError, match='Subnet none not found') as refused:
        octavia.create('loadbalancer', {'vip_subnet_id': 'none'})

    assert refused.value.status == 400


def test_regions_have_load_balancers_of_their_own_and_ids_are_the_same_each_time(clock):
    def made():
        store = MemoryStore()
        first = OctaviaSimulator(Settings(), store, None, 'R1', now=clock).create(
            'loadbalancer', {'name': 'a'}
        )
        other = OctaviaSimulator(Settings(), store, None, 'R2', now=clock)
        return first['id'], other.find('loadbalancer')

    assert made() == made()
    assert made()[1] == []


class TestFaults:
    """What goes wrong because the description of the cloud says so."""

    @staticmethod
    def simulator(clock, *faults):
        description = {'load_balancer': {'pending_s': 1, 'fail': list(faults)}}
        settings = Inventory.parse(description, 'test').load_balancer
        return OctaviaSimulator(settings, MemoryStore(), None, 'R1', now=clock)

    @pytest.mark.parametrize(
        ('fault', 'status', 'message'),
        [
            ({'call': 'create', 'status': 503}, 503, 'Octavia is busy'),
            ({'status': 403}, 403, 'Quota has been met for resources: member'),
            (
                {'kind': 'loadbalancer', 'status': 501},
                501,
                'The provider does not support the requested option',
            ),
            ({'status': 0}, None, 'The connection broke'),
            ({'status': 418}, 418, 'Fault 418'),
            ({'status': 400, 'message': 'so'}, 400, 'so'),
            ({}, 500, 'Fault 500'),
        ],
    )
    def test_a_call_is_answered_as_it_says_without_an_effect(self, clock, fault, status, message):
        octavia = self.simulator(clock, fault)

        with pytest.raises(ApiError) as failed:
            octavia.create('loadbalancer', {'name': 'a'})

        assert (failed.value.status, str(failed.value)) == (status, message)
        assert octavia.find('loadbalancer') == []

    def test_the_effect_may_come_nevertheless_and_octavia_may_say_when_to_try_again(self, clock):
        octavia = self.simulator(
            clock, {'call': 'create', 'status': 429, 'done': True, 'retry_after_s': 3}
        )

        with pytest.raises(ApiError) as failed:
            octavia.create('loadbalancer', {'name': 'a'})

        assert failed.value.retry_after_s == 3
        assert len(octavia.find('loadbalancer')) == 1

    def test_it_begins_after_so_many_calls_and_ends_after_so_many(self, clock):
        octavia = self.simulator(clock, {'call': 'find', 'kind': 'pool', 'skip': 1, 'times': 2})

        outcomes = []
        for _ in range(5):
            octavia.find('listener')
            try:
                outcomes.append(octavia.find('pool'))
            except ApiError as exc:
                outcomes.append(exc.status)

        assert outcomes == [[], 500, 500, [], []]

    def test_a_change_may_end_in_error(self, clock):
        octavia = self.simulator(clock, {'call': 'create', 'becomes': 'ERROR'})

        lb = octavia.create('loadbalancer', NESTED)
        assert lb['provisioning_status'] == 'PENDING_CREATE'
        clock.sleep(1)

        assert status(octavia, 'loadbalancer', lb['id']) == 'ERROR'
        with pytest.raises(ApiError, match='immutable'):
            octavia.create_member(lb['pools'][0]['id'], member(2))
        octavia.delete('loadbalancer', lb['id'], cascade=True)

    @pytest.mark.parametrize(
        ('fault', 'message'),
        [
            ({'call': 'make'}, "Invalid enum value 'make' - at `$.load_balancer.fail[0].call`"),
            ({'times': -2}, 'Expected `int` >= -1, got `-2` - at `$.load_balancer.fail[0].times`'),
            (
                {'becomes': 'GONE'},
                "Invalid enum value 'GONE' - at `$.load_balancer.fail[0].becomes`",
            ),
        ],
    )
    def test_a_fault_that_makes_no_sense_is_named(self, clock, fault, message):
        with pytest.raises(InvalidInventory) as refused:
            self.simulator(clock, fault)

        assert message.rpartition('`$')[2] in str(refused.value)


@pytest.mark.parametrize('kind', ['flavor', 'availability_zone'])
def test_looking_at_what_operators_offer_can_fail_too(clock, kind):
    fault = Fault(call='show', kind=kind, status=503)
    octavia = OctaviaSimulator(
        Settings(fail=[fault], flavors=['f'], availability_zones=['f']), MemoryStore(), now=clock
    )

    for name, status_of_http in (('f', 503), ('g', 404)):
        with pytest.raises(ApiError) as failed:
            octavia.show(kind, name)
        assert failed.value.status == status_of_http
    assert octavia.show(kind, 'f')['name'] == 'f'
