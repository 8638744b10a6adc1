"""The cloud that returns recorded responses."""

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.cloud.intercepted.recording import Answer, Failure, Recording
from placement_worker.cloud.intercepted.replayed import NotRecorded, ReplayedCloud
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials

CLOUD = {
    'zones': {'a': True, 'b': True},
    'regions': ['R1', 'R2'],
    'servers': {'s1': {'availability_zone': 'b'}},
    'networks': {'private': {'id': 'net1'}},
    'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/24'}},
}
MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'subnet_id': None}


def cloud_calls(cloud):
    """Return the responses to each method of a cloud."""
    return [
        cloud.zones(None),
        cloud.zones('R3'),
        sorted(cloud.regions()),
        cloud.servers('R1', ['s1', 's2']),
        cloud.subnet(None, 'private-subnet'),
        cloud.subnet(None, 'none'),
        cloud.network(None, 'net1'),
        cloud.network(None, 'none'),
        cloud.home_region,
        cloud.load_balancer_region,
    ]


def octavia_calls(cloud):
    """Return the responses to each method of Octavia."""
    api = cloud.octavia('R1')
    lb = api.create('loadbalancer', {'name': 'lb'})
    pool = {'loadbalancer_id': lb['id'], 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}
    pool_id = api.create('pool', pool)['id']
    member = api.create_member(pool_id, MEMBER)
    return [
        lb,
        member,
        api.show('loadbalancer', lb['id']),
        api.find('pool', loadbalancer_id=lb['id']),
        api.members(pool_id),
        api.update_members(pool_id, [MEMBER], additive_only=True),
        api.delete_member(pool_id, member['id']),
        api.delete('loadbalancer', lb['id'], cascade=True),
    ]


@pytest.mark.parametrize('calls', [cloud_calls, octavia_calls])
def test_each_recorded_call_is_replayed_with_the_same_answer(calls):
    """A replay of all methods returns what the recorded cloud returned."""
    answers = []
    recorded = InterceptedClouds(Inventory.parse(CLOUD, 'test'), Recording(answers))
    first = calls(recorded.acting_for(Credentials('trust-9'), 'p1'))
    written = msgspec.json.decode(msgspec.json.encode(answers), type=list[Answer])

    replayed = ReplayedCloud(written).acting_for(Credentials(), 'p1')

    assert calls(replayed) == first


def test_call_that_is_repeated_is_replayed_in_the_recorded_order():
    """The responses to the same call are replayed in their order, each once."""
    zones = [msgspec.Raw(b'{"a":true}'), msgspec.Raw(b'{"a":false}')]
    cloud = ReplayedCloud([Answer('zones', [None], answer) for answer in zones])

    assert [cloud.zones(None), cloud.zones(None)] == [{'a': True}, {'a': False}]
    with pytest.raises(NotRecorded):
        cloud.zones(None)


@pytest.mark.parametrize(
    ('recorded', 'raised'),
    [('NoUsablePlace', errors.NoUsablePlace), ('Gone', errors.Rejected)],
)
def test_recorded_error_is_raised_by_its_class_or_as_a_rejection(recorded, raised):
    """A recorded error keeps its class; a class that no longer exists becomes `Rejected`."""
    cloud = ReplayedCloud([Answer('regions', [], failure=Failure(recorded, 'why'))])

    with pytest.raises(errors.Rejected, match='why') as found:
        cloud.regions()

    assert found.type is raised


def test_recorded_error_of_octavia_keeps_status_and_delay():
    """An error of Octavia is raised with its HTTP status and the requested delay."""
    failure = Failure('ApiError', 'busy', {'status': 429, 'retry_after_s': 3.0})
    opened = Answer('octavia', [None])
    cloud = ReplayedCloud([opened, Answer('octavia.members', [None, 'p'], failure=failure)])

    with pytest.raises(ApiError, match='busy') as raised:
        cloud.octavia(None).members('p')

    assert (raised.value.status, raised.value.retry_after_s) == (429, 3.0)


def test_call_without_a_recorded_answer_is_named():
    """A call that the record lacks is named with its arguments."""
    with pytest.raises(NotRecorded, match=r'The record has no response to the call zones\("R1"\)'):
        ReplayedCloud([]).zones('R1')


def test_cloud_of_the_service_is_the_replayed_cloud():
    """A replay needs no response to act as the service."""
    cloud = ReplayedCloud([])

    assert cloud.acting_as_service() is cloud
