"""The calls of the simulated Octavia, and the faults that a description injects."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.embedded.octavia_simulator import Fault, OctaviaSimulator, Settings
from placement_worker.cloud.embedded.stores import MemoryStore
from placement_worker.cloud.ports import ApiError
from placement_worker.errors import InvalidInventory
from tests.unit.cloud.embedded.load_balancers import NESTED, member, status


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


def test_find_in_other_region_returns_nothing(clock):
    """Regions do not share load balancers, and equal calls give equal ids."""

    def made():
        store = MemoryStore()
        first = OctaviaSimulator(Settings(), store, None, 'R1', now=clock).create(
            'loadbalancer', {'name': 'a'}
        )
        other = OctaviaSimulator(Settings(), store, None, 'R2', now=clock)
        return first['id'], other.find('loadbalancer')

    assert made() == made()
    assert made()[1] == []


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
def test_call_with_fault_fails_without_effect(clock, fault, status, message):
    """A call to which a fault applies fails with its status and message, and changes nothing."""
    octavia = simulator(clock, fault)

    with pytest.raises(ApiError) as failed:
        octavia.create('loadbalancer', {'name': 'a'})

    assert (failed.value.status, str(failed.value)) == (status, message)
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
def test_parse_of_invalid_fault_names_field(clock, fault, message):
    """A description with an invalid fault is rejected with the path of the field."""
    with pytest.raises(InvalidInventory) as refused:
        simulator(clock, fault)

    assert message.rpartition('`$')[2] in str(refused.value)


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
