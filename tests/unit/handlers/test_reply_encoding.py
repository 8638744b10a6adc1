"""Tests for encoding the reply to a check."""

import json

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import ClusterPatch, NodePatch
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.base import Outcome
from placement_worker.policies.registry import Registry
from tests.factories import request, zone_policy
from tests.unit.policies.good_policy import Good

CLOUD = Inventory.parse({'zones': {'a': True}}, 'the test')
GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
ASKED = request('CLUSTER_SCALE_OUT', [GOOD, zone_policy('a')])
NAMED = f'test.good-1.0, a plugin of {__name__}'


@pytest.mark.parametrize('asked', [ASKED, json.dumps(ASKED)], ids=['data', 'JSON'])
@pytest.mark.parametrize(
    ('values', 'where'),
    [
        ({'details': {'x': object()}}, 'the details of'),
        ({'data': {'x': object()}}, 'the data or the patches of'),
        ({'nodes': {'n': NodePatch({'x': object()})}}, 'the data or the patches of'),
        ({'cluster': ClusterPatch({'x': object()})}, 'the data or the patches of'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else '',
)
def test_value_that_json_cannot_hold_names_the_policy(zone_registry, asked, values, where):
    """A plugin's value that JSON cannot hold is an error that names its type and module."""

    class Unplain(Good):
        interface = (2, 0)

        def check(self, request, state):
            return Outcome('APPLIED', 'r', **values)

    endpoints = Endpoints(CLOUD, zone_registry(Unplain))

    with pytest.raises(TypeError, match='object') as raised:
        endpoints.policy_check(asked)

    assert raised.value.__notes__ == [f'in {where} {NAMED}']


@pytest.fixture
def zone_registry(registry):
    """Return the registry of the installed types and a given one."""
    return lambda kind: Registry([*registry.types.items(), ('test.good-1.0', kind)])
