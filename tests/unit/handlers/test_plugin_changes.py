"""Tests for the values that plugins write into the state that they receive."""

import datetime

import pytest

from placement_worker.contract.model import ClusterPatch, NodePatch
from placement_worker.errors import Rejected
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.base import Outcome
from placement_worker.policies.registry import Registry
from tests.factories import nodes, request
from tests.unit.handlers.plugin_checks import CLOUD, GOOD
from tests.unit.policies.good_policy import Good

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
FIRST = {'id': 'q', 'spec': {'type': 'test.first', 'version': '1.0', 'properties': {}}}


class First(Good):
    interface = (2, 0)
    name = 'test.first'
    priority = 1

    def check(self, request, state):
        patch = NodePatch({'kept': {'x': 1}})
        return Outcome('APPLIED', 'r', nodes={'n1': patch}, cluster=ClusterPatch({'kept': 1}))


def decide(change):
    """Return the reply to a check in which a plugin changes what a first one decided."""

    class Writing(Good):
        interface = (2, 0)

        def check(self, request, state):
            change(state)
            return Outcome('APPLIED', 'r')

    Writing.__module__ = __name__
    worker = Endpoints(CLOUD, Registry([('test.first-1.0', First), ('test.good-1.0', Writing)]))
    data = {'kept': []}
    return worker.policy_check(request('CLUSTER_SCALE_OUT', [FIRST, GOOD], nodes(az1=2), data=data))


@pytest.mark.parametrize(
    ('change', 'error'),
    [
        (lambda state: state.data.update(x={'y': {1}}), 'data.x.y: set is not JSON'),
        (lambda state: state.data['kept'].append(NOW), 'data.kept[0]: datetime is not JSON'),
        (
            lambda state: state.nodes.update(n2=NodePatch({'x': object()})),
            'nodes.n2.data.x: object is not JSON',
        ),
        (
            lambda state: state.nodes['n1'].data.update(x=b''),
            'nodes.n1.data.x: bytes is not JSON',
        ),
        (
            lambda state: state.cluster.data.update(x=NOW),
            'cluster.data.x: datetime is not JSON',
        ),
        (
            lambda state: state.nodes.update(n2=3),
            "nodes['n2'] must be a NodePatch, got int",
        ),
    ],
)
def test_value_written_into_the_state_that_is_not_plain_names_policy_and_path(change, error):
    """A value that a policy writes in place is checked like one that it returns."""
    with pytest.raises(TypeError) as raised:
        decide(change)

    named = f'in test.good-1.0, a plugin of {__name__}'
    assert (str(raised.value), raised.value.__notes__) == (error, [named])


def test_plain_value_written_into_the_state_reaches_the_engine():
    """A change in place of data, nodes and cluster is part of the decision, as a returned one."""

    def change(state):
        state.data['kept'].append(1)
        state.nodes['n1'].data['kept']['x'] = 2
        state.cluster.data['kept'] = 2

    reply = decide(change)

    assert reply['action']['data']['kept'] == [1]
    assert reply['nodes'] == {'n1': {'data': {'kept': {'x': 2}}}}
    assert reply['cluster'] == {'data': {'kept': 2}}


def test_change_of_the_state_by_a_plugin_that_fails_is_not_in_the_reply():
    """The reply with status ERROR has the values of the policies before."""

    def change(state):
        state.data['kept'].append(1)
        state.nodes['n1'].data['kept']['x'] = 2
        state.cluster.data['kept'] = 2
        raise Rejected('no')

    reply = decide(change)

    assert reply['action']['data']['kept'] == []
    assert reply['nodes'] == {'n1': {'data': {'kept': {'x': 1}}}}
    assert reply['cluster'] == {'data': {'kept': 1}}
