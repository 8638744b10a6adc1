"""Senlin's own `Action.policy_check`, with the worker behind it."""

import pytest
from senlin.common import consts

from tests.senlin import engine

pytestmark = pytest.mark.usefixtures('worker')


def zones(*names, **weighted):
    places = [{'name': name} for name in names]
    places += [{'name': name, 'weight': weight} for name, weight in weighted.items()]
    return {'type': 'senlin.policy.zone_placement', 'version': '1.0', 'properties': {'zones': places}}


def test_new_nodes_are_spread_over_zones():
    cluster = engine.add_cluster('az1', 'az1', 'az2')
    engine.bound(cluster, ('zones', zones('az1', 'az2', 'down')))

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=3)

    assert (data['status'], data['reason']) == ('OK', 'Completed policy checking.')
    assert data['creation'] == {'count': 3, 'zones': {'az1': 1, 'az2': 2}}
    assert data['placement']['placements'] == [{'zone': 'az2'}, {'zone': 'az1'}, {'zone': 'az2'}]
