"""The worker of a command."""

import datetime
from contextlib import closing

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import InvalidRequest, PolicyTypeNotFound
from placement_worker.handlers.in_process import InProcessCaller
from tests.factories import request, zone_policy

GROWTH = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')])


@pytest.fixture
def caller(registry):
    return InProcessCaller(Inventory.parse({'zones': {'a': True}}, 'test'), registry)


def _zones(reply):
    return reply.action.data['creation']['zones']


def test_over_another_cloud_leaves_the_caller_unchanged(caller):
    """A caller over another cloud has the same policy types; the first keeps its cloud."""
    other = caller.over(Inventory.parse({'zones': {'b': True}}, 'test'))

    assert _zones(other.policy_check(GROWTH)) == {'b': 1}
    assert _zones(caller.policy_check(GROWTH)) == {'a': 1}
    assert other.policy_type_list() == caller.policy_type_list()


def test_time_of_decisions_is_that_of_the_given_clock(registry):
    """A test sets the time of decisions, also over another cloud."""
    late = datetime.datetime(3000, 1, 2, tzinfo=datetime.UTC)
    cloud = Inventory.parse({'zones': {'a': True}}, 'test')
    caller = InProcessCaller(cloud, registry, now=lambda: late).over(cloud)
    asked = {**GROWTH, 'expires_at': '3000-01-01T00:00:00Z'}

    assert caller.policy_check(asked).action.data['reason'] == 'Request expired'


REPLY_TO = {'exchange': 'engine', 'topic': 'replies', 'method': 'checked'}


def test_cast_passes_the_reply_with_its_request_id_to_the_callback(caller):
    """A program that casts runs without a broker: the callback gets id and reply."""
    taken = {}

    with closing(caller), caller.serve_replies('engine', 'replies', taken.__setitem__):
        given = caller.cast_check(GROWTH, REPLY_TO, {'request_id': 'req-1'})
        made = caller.cast_check(GROWTH, REPLY_TO)
        caller.cast_check(GROWTH)

    assert list(taken) == [given, made] == ['req-1', made]
    assert [_zones(reply) for reply in taken.values()] == [{'a': 1}, {'a': 1}]


def test_cast_that_the_worker_refuses_passes_the_error_to_the_callback(caller):
    """The callback gets the exception that the call would raise."""
    taken = []
    unknown = {**zone_policy('a'), 'spec': {'type': 'unknown', 'version': '1.0', 'properties': {}}}

    with caller.serve_replies('engine', 'replies', lambda _, reply: taken.append(type(reply))):
        caller.cast_check(request('CLUSTER_SCALE_OUT', [unknown]), REPLY_TO)

    assert taken == [PolicyTypeNotFound]


@pytest.mark.parametrize(
    'place',
    [('placement_worker', 'replies'), ('engine', 'placement-worker-parked'), ('engine', '')],
)
def test_replies_at_a_place_of_the_workers_are_refused(caller, place):
    """A place at which workers refuse to reply is refused before a cast, and for a receiver."""
    with pytest.raises(InvalidRequest):
        caller.serve_replies(*place, print)
    with pytest.raises(InvalidRequest):
        caller.cast_check(GROWTH, dict(zip(REPLY_TO, (*place, 'm'), strict=True)))
    with pytest.raises(InvalidRequest, match=r'at `callback`$'):
        caller.serve_replies('engine', 'replies', 'notcallable')


def take_into(taken):
    return lambda request_id, reply: taken.append((request_id, reply.action.data['status']))


def cast(caller, request_id, topic='replies'):
    caller.cast_check(
        request('CLUSTER_CHECK', []), {**REPLY_TO, 'topic': topic}, {'request_id': request_id}
    )


def test_replies_before_their_callback_wait_in_order(caller):
    """A callback gets the replies of its place alone, also those before it was there."""
    taken = []
    for request_id, topic in (('a', 'replies'), ('b', 'others'), ('c', 'replies')):
        cast(caller, request_id, topic)

    caller.serve_replies('engine', 'replies', take_into(taken))

    assert taken == [('a', 'OK'), ('c', 'OK')]


def test_reply_to_a_cast_of_a_callback_follows_after_the_callback(caller):
    """A callback that casts again has returned before it gets the next reply."""
    taken = []

    def take(request_id, _):
        if not taken:
            cast(caller, 'b')
        taken.append(request_id)

    caller.serve_replies('engine', 'replies', take)
    cast(caller, 'a')

    assert taken == ['a', 'b']


def test_callback_that_raises_gets_its_reply_again(caller):
    """The reply is taken when the callback has returned, as a message is acknowledged."""
    taken = []
    receiver = caller.serve_replies('engine', 'replies', lambda: None)  # takes no arguments
    with pytest.raises(TypeError):
        cast(caller, 'a')
    receiver.stop()

    caller.serve_replies('engine', 'replies', take_into(taken))

    assert taken == [('a', 'OK')]
