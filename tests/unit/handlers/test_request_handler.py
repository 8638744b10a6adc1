"""The handler of decoded requests: events, records and the labels of metrics."""

import datetime
import itertools

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import BindRequest, CheckRequest
from placement_worker.contract.rpc import Limits
from placement_worker.errors import InvalidRequest
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    PolicyConsulted,
)
from placement_worker.handlers.request_handler import RequestHandler
from tests.events import Events
from tests.factories import bind, deletion_policy, node, nodes, request

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Record:
    """A recorder, and the record of its only decision."""

    def __init__(self):
        self.begun, self.ended = [], []

    def begin(self, request_id, conditions):
        self.conditions = conditions
        self.begun.append((request_id, conditions.now))
        return self

    def end(self, method, request, reply):
        self.ended.append((method, request, reply))


@pytest.fixture
def events():
    return Events()


@pytest.fixture
def made(registry, events):
    """Return a function that creates a handler, with a recorder or without one."""

    def create(recorder=None):
        clock = itertools.count().__next__
        cloud = Inventory()
        return RequestHandler(
            cloud, registry, events, recorder, Limits, OctaviaSettings, lambda: NOW, clock
        )

    return create


def check_of(members, **inputs):
    raw = request('CLUSTER_SCALE_IN', [deletion_policy()], members, inputs=inputs)
    return msgspec.convert(raw, CheckRequest)


def binding_of(**spec):
    policy = deletion_policy()
    return msgspec.convert(bind({**policy, 'spec': {**policy['spec'], **spec}}), BindRequest)


def test_check_reports_start_policies_and_end(made, events):
    """A check is reported when it starts, for each policy, and when it ends."""
    reply = made().check(check_of(nodes(a=2), count=1), 'req-1')

    assert [type(event) for event in events.received] == [CheckStarted, PolicyConsulted, CheckEnded]
    assert events.received[-1].reply is reply


def test_check_with_unknown_input_warns(made):
    """An input that no policy reads leads to a warning in the reply."""
    reply = made().check(check_of(nodes(a=2), cuont=1), None)

    assert any('"cuont" (did you mean "count"?)' in warning for warning in reply.warnings)


def test_check_of_an_invalid_cluster_is_neither_reported_nor_recorded(made, events):
    """A request that breaks a rule is refused before anything happens."""
    recorder = Record()

    with pytest.raises(InvalidRequest):
        made(recorder).check(check_of([node(1), node(1)]), None)

    assert (events.received, recorder.begun) == ([], [])


def test_check_with_a_recorder_is_recorded(made):
    """The record begins before the decision, and ends with request and reply."""
    recorder, asked = Record(), check_of(nodes(a=2))

    reply = made(recorder).check(asked, 'req-1')

    assert recorder.begun == [('req-1', NOW)]
    assert recorder.ended == [('policy_check', asked, reply)]


@pytest.mark.parametrize(
    ('version', 'label'),
    [('1.1', 'senlin.policy.deletion-1.1'), ('9.9', 'senlin.policy.deletion')],
)
def test_detach_is_labeled_with_an_installed_type(made, events, version, label):
    """A version that a caller invents does not become the label of a metric."""
    reply = made().detach(binding_of(version=version), None)

    assert reply.status == 'OK'
    started, ended = events.received
    assert (type(started), type(ended)) == (BindingStarted, BindingEnded)
    assert (started.method, ended.policy_type) == ('policy_detach', label)


def test_attach_with_a_recorder_is_recorded(made):
    """The record of a binding has the name of its method."""
    recorder, asked = Record(), binding_of()

    reply = made(recorder).attach(asked, None)

    assert recorder.ended == [('policy_attach', asked, reply)]
