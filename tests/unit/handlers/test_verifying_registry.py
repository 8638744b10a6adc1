"""Tests that a worker for tests finds plugins that change what they receive."""

import functools
from typing import Any

import pytest
from msgspec import Struct, field

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import Rejected, WorkerFailed
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.base import BindingOutcome, skipped
from placement_worker.policies.registry import Registry
from tests.factories import bind, nodes, request
from tests.unit.policies.good_policy import Good

CLOUD = Inventory.parse({'zones': {'az1': True}}, 'the test')
GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
NAMED = f'in test.good-1.0, a plugin of {__name__}'


class Mutable(Struct, frozen=True):
    words: list[str] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)


def types_of(change):
    """Return a registry with a plugin that calls a function with all that it receives."""

    class Changing(Good):
        interface = (2, 0)
        versions = {'1.0': Mutable}

        def __init__(self, properties):
            super().__init__(properties)
            self.known = set()

        @functools.cached_property
        def words(self):
            return {*self.properties.words}

        def check(self, request, state):
            change(self, request, state)
            return skipped('Nothing to do')

        def attach(self, request, state):
            change(self, request, state)
            return BindingOutcome({})

        detach = attach

    return Registry([('test.good-1.0', Changing)])


def asked():
    return request('CLUSTER_SCALE_OUT', [GOOD], nodes(az1=2), inputs={'count': 1}, data={'x': [1]})


def rejecting(policy, request, state):
    request.cluster.nodes.pop()
    raise Rejected('No')


@pytest.mark.parametrize(
    ('change', 'path'),
    [
        (
            lambda _, request, __: request.action.inputs.update(count=9),
            'request.action.inputs.count',
        ),
        (lambda _, request, __: request.cluster.nodes.pop(), 'request.cluster.nodes'),
        (
            lambda _, request, __: request.cluster.nodes[1].data.update(y=object()),
            'request.cluster.nodes[1].data.y',
        ),
        (lambda _, __, state: state.data.update(y=None), 'state.data.y'),
        (lambda _, __, state: state.data['x'].append(1), 'state.data.x'),
        (lambda policy, _, __: policy.properties.words.append(''), 'self.properties.words'),
        (lambda policy, asked, _: setattr(policy, 'seen', asked.cluster.id), 'self.seen'),
        (lambda policy, asked, _: policy.known.add(asked.cluster.id), 'self.known'),
    ],
)
def test_check_that_changes_what_it_receives_names_policy_and_path(change, path):
    """A change that later policies would see is an error in tests and commands."""
    with pytest.raises(WorkerFailed) as raised:
        InProcessCaller(CLOUD, types_of(change)).policy_check(asked())

    assert str(raised.value) == (
        'policy_check failed: RuntimeError: check must not change what it receives; it changed '
        f'{path} ({NAMED})'
    )


@pytest.mark.parametrize(
    ('method', 'version'), [('attach', '1.0'), ('detach', '1.0'), ('detach', '2.0')]
)
def test_binding_that_changes_what_it_receives_names_policy_and_path(method, version):
    """So is a change while a policy is attached or detached, also with an invalid spec."""
    caller = InProcessCaller(CLOUD, types_of(lambda _, asked, __: asked.policy.data.update(y=1)))
    bound = bind({**GOOD, 'spec': {**GOOD['spec'], 'version': version}})

    with pytest.raises(WorkerFailed, match=rf'{method} must not .* request\.policy\.data\.y \('):
        getattr(caller, f'policy_{method}')(bound)


def test_check_that_changes_nothing_keeps_its_reply():
    """A plugin may read everything and derive a value once, and a rejection stays one."""
    reading = InProcessCaller(
        CLOUD, types_of(lambda policy, request, _: (request.action.scale_inputs, policy.words))
    )

    assert reading.policy_check(asked()).action.data['status'] == 'OK'
    reply = InProcessCaller(CLOUD, types_of(rejecting)).policy_check(asked())
    assert reply.action.data['reason'] == 'No'


def test_worker_does_not_search_for_changes():
    """A worker does not copy each request, even if its registry is that of a caller."""
    registry = types_of(lambda _, __, state: state.data.update(y=1))
    with pytest.raises(WorkerFailed):
        InProcessCaller(CLOUD, registry).policy_check(asked())

    assert Endpoints(CLOUD, registry).policy_check(asked())['action']['data']['y'] == 1
