"""Tests for the checks of decisions of plugins, which would mislead the engine."""

import copy

import pytest

from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import NodePatch
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.base import Outcome
from placement_worker.policies.registry import Registry
from tests.factories import node, request, zone_policy
from tests.unit.handlers.plugin_checks import CLOUD, GOOD, NAMED, decide
from tests.unit.policies.good_policy import Good

AT = '$.action.data'
PLAN = {'count': 4, 'zones': {'az1': 4}}
STATUS = f'Expected `"OK"`, got `"ERROR"`; to reject an action, raise Rejected - at `{AT}.status`'


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
            'Expected equal numbers of nodes, got 1 in placement.placements, 9 in placement.count, '
            f'2 in creation.count - at `{AT}.placement`',
        ),
        ({'data': {'placement': 5}}, f'Expected `object`, got `5` - at `{AT}.placement`'),
        (
            {'data': {'placement': {'placements': {'zone': 'az1'}}}},
            f'Expected `array`, got `object` - at `{AT}.placement.placements`',
        ),
        (
            {'data': {'placement': {'placements': [{}, 'az2']}}},
            f'Expected `object`, got `"az2"` - at `{AT}.placement.placements[1]`',
        ),
        (
            {'data': {'placement': {'placements': [{'zone': 5}]}}},
            f'Expected `str | null`, got `5` - at `{AT}.placement.placements[0].zone`',
        ),
        (
            {'data': {'placement': {'placements': [{'region_name': ['r1']}]}}},
            f'Expected `str | null`, got `array` - at `{AT}.placement.placements[0].region_name`',
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
            {'data': {'creation': {'count': 10**9}}},
            'The target capacity (1000000003) is greater than the maximum number of nodes allowed '
            f'per cluster (1000) - at `{AT}.creation.count`',
        ),
        ({'nodes': {'nope': NodePatch({})}}, 'Not a member of cluster c1: nope - at `$.nodes`'),
        (
            {'data': {'status': 'ERROR', 'reason': 'Too late'}},
            STATUS,
        ),
        ({'data': {'reason': 5}}, f'Expected `str`, got `5` - at `{AT}.reason`'),
    ],
)
def test_decision_that_cannot_be_right_is_an_error_that_names_the_plugin(values, error):
    """Counts that contradict each other and unknown nodes do not reach the engine."""
    data, _ = decide(**values)

    assert (data['status'], data['reason']) == ('ERROR', f'{NAMED}, wrote invalid data: {error}')


@pytest.mark.parametrize('is_returned', [True, False])
@pytest.mark.parametrize(
    ('change', 'error'),
    [
        (
            lambda state: state.data.update(deletion={'count': 1, 'candidates': ['nope']}),
            f'Not a member of cluster c1: nope - at `{AT}.deletion.candidates`',
        ),
        (
            lambda state: state.data['creation'].update(count=1),
            f'Expected a plan for at most 1 node, got one for 4 - at `{AT}.creation.zones`',
        ),
        (
            lambda state: state.data.update(creation={'count': -3}),
            f'Expected `int` >= 0, got `-3` - at `{AT}.creation.count`',
        ),
        (
            lambda state: state.data.update(status='ERROR'),
            STATUS,
        ),
        (
            lambda state: state.nodes.update(nope=NodePatch({})),
            'Not a member of cluster c1: nope - at `$.nodes`',
        ),
    ],
)
def test_decision_that_a_plugin_writes_into_the_state_is_checked(change, error, is_returned):
    """A decision that cannot be right does not reach the engine, wherever the plugin writes it.

    The reply has the data of the policies before.
    """
    asked = {'data': {'creation': copy.deepcopy(PLAN)}}

    data, _ = decide(change=change, returns_data=is_returned, asked=asked)

    reason = f'{NAMED}, wrote invalid data: {error}'
    assert data == {'creation': PLAN, 'status': 'ERROR', 'reason': reason}


def test_right_decision_that_a_plugin_writes_into_the_state_is_accepted():
    """A decision in place that fits the rules reaches the engine, as one in a new map does."""
    data, _ = decide(
        change=lambda state: state.data['creation'].update(count=2),
        asked={'data': {'creation': {'count': 4}}},
    )

    assert (data['status'], data['creation']) == ('OK', {'count': 2})


def test_invalid_plan_that_a_plugin_keeps_is_not_its_error():
    """A plugin that changes nothing is not blamed for a plan of the engine or another policy."""
    data, warnings = decide(asked={'data': {'creation': {'count': 1, 'zones': {'az1': 4}}}})

    assert (data['status'], warnings) == ('OK', [])


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


def test_count_that_contradicts_the_placements_of_an_earlier_policy_is_an_error():
    """A policy that lowers the count must lower the placements, or the engine gets both."""

    class Capping(Good):
        interface = (2, 0)
        priority = 900

        def check(self, request, state):
            return Outcome('APPLIED', 'r', data={**state.data, 'creation': {'count': 1}})

    registry = Registry([*Registry.installed().types.items(), ('test.good-1.0', Capping)])
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('az1'), GOOD], [], inputs={'count': 3})

    data = Endpoints(CLOUD, registry).policy_check(asked)['action']['data']

    assert data['reason'].endswith(
        'wrote invalid data: Expected equal numbers of nodes, got 3 in placement.placements, 3 in '
        f'placement.count, 1 in creation.count - at `{AT}.placement`'
    )


@pytest.mark.parametrize('count', [5, 'x', [1]])
def test_count_that_contradicts_the_placements_of_an_earlier_check_is_accepted(count):
    """The placements that the engine sends again are those of an earlier plan."""
    asked = {'data': {'placement': {'count': count, 'placements': [{'zone': 'az1'}] * 5}}}

    data, _ = decide(data={**asked['data'], 'creation': {'count': 2}}, asked=asked)

    assert data['status'] == 'OK'


def test_growth_that_a_plugin_decides_in_place_of_an_invalid_input_is_accepted():
    """The plugin is not blamed for an input that it replaces."""
    data, _ = decide(data={'creation': {'count': 1}}, asked={'inputs': {'count': 'x'}})

    assert data['status'] == 'OK'


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
