"""Tests for the warnings of decisions of plugins that may be mistakes."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import UnreachableCloud
from placement_worker.errors import CloudUnavailable
from tests.unit.handlers.plugin_checks import NAMED, decide


@pytest.mark.parametrize(
    ('action', 'values', 'warning'),
    [
        (
            'CLUSTER_SCALE_OUT',
            {'creation': {'count': 1, 'zones': {'az77': 1}}},
            'The cloud does not know availability zone "az77"; it has "az1"',
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'placement': {'placements': [{'region_name': 'r2', 'zone': 'az1'}]}},
            'The cloud does not know availability zone "az1"; it has "az2"',
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'creation': {'regions': {'r3': 1}}},
            'The cloud does not know region "r3"; it has "r1", "r2"',
        ),
        (
            'CLUSTER_SCALE_IN',
            {'deletion': {'count': 2, 'candidates': ['n1', 'n2']}},
            'The plan has 2 victims, but the action deletes 1 node',
        ),
    ],
)
def test_decision_that_may_be_a_mistake_is_a_warning_that_names_the_plugin(action, values, warning):
    """Unknown places of new nodes and too many victims are warnings in the reply."""
    data, warnings = decide(action, data=values)

    assert data['status'] == 'OK'
    assert f'{warning} (in {NAMED})' in warnings


def test_unknown_places_are_not_looked_for_in_a_cloud_that_is_unavailable():
    """A plugin that names a zone need not use the cloud, so its decision stands without one."""

    class Unreachable(Inventory):
        def acting_for(self, credentials, project):
            return UnreachableCloud(CloudUnavailable('It is down'))

    values = {'creation': {'count': 1, 'zones': {'az1': 1}}}

    data, warnings = decide(clouds=Unreachable(), data=values)

    assert (data['creation'], data['status'], warnings) == (values['creation'], 'OK', [])


@pytest.mark.parametrize(
    ('action', 'key'),
    [
        ('CLUSTER_SCALE_OUT', 'creation'),
        ('CLUSTER_SCALE_IN', 'deletion'),
        ('CLUSTER_SCALE_OUT', 'placement'),
    ],
)
def test_plan_that_a_plugin_drops_is_a_warning_that_names_it(action, key):
    """An author who forgets the earlier data learns that a plan of an earlier policy is gone."""
    earlier = {'data': {key: {'count': 1}, 'kept': 1}}

    _, warnings = decide(action, asked=earlier, data={'x': 1})
    _, of_kept = decide(action, asked=earlier, data={**earlier['data'], 'x': 1})

    assert warnings == [
        f'The data lack {key} of an earlier policy; begin them with **state.data (in {NAMED})'
    ]
    assert of_kept == []


@pytest.mark.parametrize(('zone', 'is_warned'), [('az1', False), ('az2', True)])
def test_victims_outside_the_planned_zones_are_a_warning(zone, is_warned):
    """Victims that contradict the removal counts are reported, with the order that avoids this."""
    plan = {'count': 1, 'zones': {zone: 1}}

    _, warnings = decide(
        'CLUSTER_SCALE_IN',
        asked={'data': {'deletion': plan}},
        data={'deletion': {**plan, 'candidates': ['n1']}},
    )

    expected = (
        'The victims are not in the zones of the plan, az2 1; choose victims before the placement '
        f'policies, with a priority below 200 (in {NAMED})'
    )
    assert warnings == ([expected] if is_warned else [])
