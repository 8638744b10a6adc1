"""The record of the calls to a cloud, and the cloud that returns the recorded responses."""

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.intercepted.interceptor import Call, InterceptedClouds
from placement_worker.cloud.intercepted.recording import (
    Answer,
    Failure,
    NotRecorded,
    Recording,
    replayed_clouds,
)
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import Credentials
from tests.simulated_octavia import DESCRIPTION

CLOUD = {
    **DESCRIPTION,
    'zones': {'a': True, 'b': True},
    'servers': {'s1': {'availability_zone': 'b'}},
}
MEMBER = {'address': '10.0.0.5', 'protocol_port': 80, 'subnet_id': None}
CALL = Call('compute', 'zones', 'zones', ['R1'])


def test_set_is_recorded_and_returned_in_order():
    """The caller sees a set in the order in which a replay returns it."""
    answers = []
    call = Call('identity', 'regions', 'regions', [])

    assert Recording(answers)(call, lambda: frozenset({'R2', 'R1'})) == ['R1', 'R2']
    assert answers[0].answer == msgspec.Raw(b'["R1","R2"]')


@pytest.mark.parametrize(
    ('error', 'details'),
    [
        (errors.NoUsablePlace('why', {'zones': ['a']}), {'zones': ['a']}),
        (ApiError('why', 429, 3.0), {'status': 429, 'retry_after_s': 3.0}),
    ],
)
def test_error_of_the_cloud_is_recorded_raised_and_replayed(error, details):
    """A record has the class, the text and the attributes of an error of the cloud."""
    answers = []

    def fail(exc):
        raise exc

    with pytest.raises(type(error)):
        Recording(answers)(CALL, lambda: fail(error))
    with pytest.raises(KeyError):
        Recording(answers)(CALL, lambda: fail(KeyError('zone')))

    assert answers == [
        Answer('zones', ['R1'], failure=Failure(type(error).__name__, 'why', details))
    ]
    with pytest.raises(type(error), match='why') as raised:
        replayed(answers).zones('R1')
    assert {key: getattr(raised.value, key, None) for key in details} == details or (
        raised.value.details == details
    )


def replayed(answers):
    return replayed_clouds(answers).acting_as_service()


def cloud_calls(cloud):
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
    api = cloud.octavia('R1')
    lb = api.create('loadbalancer', {'name': 'lb'})
    pool = api.create('pool', {'loadbalancer_id': lb['id'], 'protocol': 'HTTP'})
    pool_id, member = pool['id'], api.create_member(pool['id'], MEMBER)
    return [
        lb,
        pool,
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
    """A replay of all methods returns what the recorded cloud returned, without a cloud."""
    answers = []
    clouds = InterceptedClouds(Inventory.parse(CLOUD, 'test'), Recording(answers))
    first = calls(clouds.acting_for(Credentials('trust-9'), 'p1'))
    written = msgspec.json.decode(msgspec.json.encode(answers), type=list[Answer])

    assert calls(replayed_clouds(written).acting_for(Credentials(), 'p1')) == first


def test_call_that_is_repeated_is_replayed_in_the_recorded_order():
    """The responses to the same call are replayed once each; a further call is named."""
    zones = [msgspec.Raw(b'{"a":true}'), msgspec.Raw(b'{"a":false}')]
    cloud = replayed([Answer('zones', ['R1'], answer) for answer in zones])

    assert [cloud.zones('R1'), cloud.zones('R1')] == [{'a': True}, {'a': False}]
    with pytest.raises(NotRecorded, match=r'The record has no response to the call zones\("R1"\)'):
        cloud.zones('R1')
