"""Tests for the checks of decisions of plugins, which would mislead the engine."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import UnreachableCloud
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import NodePatch
from placement_worker.errors import CloudUnavailable
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies import base
from placement_worker.policies.base import Outcome
from placement_worker.policies.registry import Registry
from tests.factories import node, nodes, request
from tests.unit.policies.good_policy import Good

CLOUD = Inventory.parse(
    {'regions': {'r1': {'zones': {'az1': True}}, 'r2': {'zones': {'az2': True}}}}, 'the test'
)
GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
NAMED = f'test.good-1.0, a plugin of {__name__}'
AT = '$.action.data'


def decide(action='CLUSTER_SCALE_OUT', clouds=CLOUD, asked=None, **values):
    """Return the data and the warnings of a check of a plugin that returns some values."""

    class Writing(Good):
        interface = (2, 0)
        targets = frozenset((phase, action) for phase in (base.BEFORE, base.AFTER))

        def check(self, request, state):
            return Outcome('APPLIED', 'r', **values)

    Writing.__module__ = __name__
    worker = Endpoints(clouds, Registry([('test.good-1.0', Writing)]))
    reply = worker.policy_check(request(action, [GOOD], nodes(az1=3), **(asked or {})))
    return reply['action']['data'], reply['warnings']


@pytest.mark.parametrize(
    ('values', 'error'),
    [
        (
            {'data': {'creation': {'count': 2, 'zones': {'az1': 5}}}},
            f'Expected a plan for at most 2 nodes, got one for 5 - at `{AT}.creation.zones`',
        ),
        (
            {'data': {'creation': {'count': 2, 'regions': {'r1': 1}}}},
            f'Expected a plan for 2 nodes, got one for 1 - at `{AT}.creation.regions`',
        ),
        (
            {'data': {'creation': {'zones': {'az1': 2}}}},
            f'Expected a plan for at most 1 node, got one for 2 - at `{AT}.creation.zones`',
        ),
        (
            {
                'data': {
                    'deletion': {'count': 1, 'places': [{'region_name': 'r1', 'count': 2}]},
                }
            },
            f'Expected a plan for at most 1 node, got one for 2 - at `{AT}.deletion.places`',
        ),
        (
            {'data': {'creation': {'count': 2}, 'placement': {'count': 9, 'placements': [{}]}}},
            f'Expected equal numbers of nodes and placements, got 1, 2, 9 - at `{AT}.placement`',
        ),
        (
            {'data': {'placement': {'count': 'x', 'placements': [{}]}}},
            f'Expected `int`, got `"x"` - at `{AT}.placement.count`',
        ),
        (
            {'data': {'deletion': {'count': 2, 'candidates': ['n1', 'nope']}}},
            f'Not a member of cluster c1: nope - at `{AT}.deletion.candidates`',
        ),
        (
            {
                'data': {
                    'creation': {'count': 2, 'zones': {'az1': 2}},
                    'placement': {'placements': [{'zone': 'az2'}, {'zone': 'az2'}]},
                }
            },
            f'Expected the counts of the placements, az2 2, got az1 2 - at `{AT}.creation.zones`',
        ),
        (
            {
                'data': {
                    'creation': {'count': 1, 'regions': {'r1': 1}},
                    'placement': {'placements': [{}]},
                }
            },
            f'Expected the counts of the placements, none, got r1 1 - at `{AT}.creation.regions`',
        ),
        (
            {'data': {'deletion': {'count': 1, 'candidates': ['n1', 'n2']}}},
            f'Expected at most 1 victim, got 2 - at `{AT}.deletion.candidates`',
        ),
        (
            {'data': {'creation': {'count': 10**9}}},
            'The target capacity (1000000003) is greater than the maximum number of nodes allowed '
            f'per cluster (1000) - at `{AT}.creation.count`',
        ),
        ({'nodes': {'nope': NodePatch({})}}, 'Not a member of cluster c1: nope - at `$.nodes`'),
    ],
)
def test_decision_that_cannot_be_right_is_an_error_that_names_the_plugin(values, error):
    """Counts that contradict each other and unknown nodes do not reach the engine."""
    data, _ = decide(**values)

    assert (data['status'], data['reason']) == ('ERROR', f'{NAMED}, wrote invalid data: {error}')


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


@pytest.mark.parametrize(
    ('action', 'values'),
    [
        ('CLUSTER_SCALE_IN', {'deletion': {'count': 1, 'candidates': []}}),
        ('CLUSTER_DEL_NODES', {'deletion': {'candidates': ['n1', 'n2']}}),
        (
            'CLUSTER_SCALE_OUT',
            {
                'creation': {'count': 2, 'zones': {'az1': 1, 'az2': 0}},
                'placement': {'placements': [{'zone': 'az1'}, {}]},
            },
        ),
        (
            'CLUSTER_SCALE_OUT',
            {
                'creation': {'count': 1},
                'placement': {'placements': [{'region_name': 'r1', 'zone': 'az1'}]},
            },
        ),
    ],
)
def test_decision_that_leaves_a_part_to_later_policies_is_accepted(action, values):
    """Fewer victims than the count, entries without a place and plans without counts are right."""
    data, _ = decide(action, data=values, asked={'inputs': {'candidates': ['n1', 'n2']}})

    assert data['status'] == 'OK'


def test_growth_that_a_plugin_decides_in_place_of_an_invalid_input_is_accepted():
    """The plugin is not blamed for an input that it replaces."""
    data, _ = decide(data={'creation': {'count': 1}}, asked={'inputs': {'count': 'x'}})

    assert data['status'] == 'OK'


def test_unknown_places_are_not_looked_for_in_a_cloud_that_is_unavailable():
    """A plugin that names a zone need not use the cloud, so its decision stands without one."""

    class Unreachable(Inventory):
        def acting_for(self, credentials, project):
            return UnreachableCloud(CloudUnavailable('It is down'))

    values = {'creation': {'count': 1, 'zones': {'az1': 1}}}

    data, warnings = decide(clouds=Unreachable(), data=values)

    assert (data['creation'], data['status'], warnings) == (values['creation'], 'OK', [])


@pytest.mark.parametrize(
    'asked',
    [
        {'inputs': {'candidates': {'n9': 'n1'}}},
        {'inputs': {'nodes': ['n9']}},
        {'data': {'deletion': {'candidates': ['n9']}}, 'target': 'AFTER'},
        {'action_node': True},
    ],
)
def test_patch_of_a_node_that_the_request_names_is_accepted(asked):
    """The action may name nodes that are no members, e.g. its victims after their deletion."""
    action = 'CLUSTER_REPLACE_NODES'
    if asked.pop('action_node', False):
        action, asked = 'NODE_CREATE', {'node': node(9)}

    data, _ = decide(action, nodes={'n9': NodePatch({})}, asked=asked)

    assert data['status'] == 'OK'


@pytest.mark.parametrize(
    ('plan', 'entries', 'error'),
    [
        ({'zones': {'az1': 5}}, [], 'zones must have at most 2 nodes, got 5'),
        ({'zones': {'az1': 2}}, [{'zone': 'az1'}], 'entries must have 2 places, got 1'),
    ],
)
def test_planned_with_counts_that_contradict_each_other_raises(plan, entries, error):
    """A policy cannot write a plan that does not fit its number of nodes."""
    with pytest.raises(ValueError, match=f'^{error}$'):
        ActionData({}).planned('creation', 2, plan, entries)


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
