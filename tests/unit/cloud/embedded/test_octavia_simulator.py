"""The calls of the simulated Octavia, injected faults, and the stores of its objects."""

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
from placement_worker.cloud.ports import ApiError
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
