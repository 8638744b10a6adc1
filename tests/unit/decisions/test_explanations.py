"""The reasons of victims and the plans in replies."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.model import ActionPatch, CheckReply, CheckRequest, Decision
from placement_worker.decisions.explanations import (
    final_plan_rows,
    reason_of_choice,
    unnamed_victims,
)
from tests.factories import nodes, request


def planned(data, *planned):
    decisions = [
        Decision('p', None, 'test-1.0', 1, 'APPLIED', '', 0, {'zones': zones}) for zones in planned
    ]
    return final_plan_rows(
        CheckReply(action=ActionPatch('a1', data), cluster=None, nodes={}, decisions=decisions)
    )


def zone_row(name, planned, final, note='', current=3):
    return {'name': name, 'current': current, 'planned': planned, 'final': final, 'note': note}


def test_rows_that_a_later_policy_changed_are_the_counts_of_the_reply():
    """The table agrees with the places of the nodes."""
    plan = [zone_row('a', 2, 5), zone_row('b', 0, 3, 'at its cap'), zone_row('c', 1, 4)]
    note = 'of a later policy'

    assert planned({'creation': {'count': 3, 'zones': {'a': 2, 'c': 1}}}, plan) == plan
    assert planned({'creation': {'count': 3, 'zones': {'d': 1, 'b': 2}}}, plan) == [
        {'name': 'b', 'planned': 2, 'note': note},
        {'name': 'd', 'planned': 1, 'note': note},
    ]
    assert planned({'deletion': {'count': 1, 'zones': {'a': 1}}}, [zone_row('a', 2, 1)]) == [
        {'name': 'a', 'planned': 1, 'note': note}
    ]


def test_rows_without_a_comparable_plan_stay():
    """Counts that cannot be compared are shown as they were recorded."""
    plan, twice = [zone_row('a', 2, 5)], [zone_row('a', 1, 4), zone_row('a', 1, 4)]

    assert planned({'creation': {'count': 2}}, plan) == plan
    assert planned({'creation': {'zones': {}}, 'deletion': {'zones': {}}}, plan) == plan
    assert planned({'creation': {'count': 2, 'zones': {'a': 2}}}, twice) == twice
    no_zone = [zone_row('a', 2, 5), zone_row('-', 1, 4, 'no usable zone')]
    assert planned({'creation': {'count': 3, 'zones': {'a': 2}}}, no_zone) == no_zone
    assert planned({}, 5) == planned({}, [5, {'name': 1}]) == []


@pytest.mark.parametrize(
    ('action', 'deletion', 'expected'),
    [
        ('CLUSTER_SCALE_IN', {'count': 3, 'zones': {'a': 2}}, {(None, 'a'): 2, (None, None): 1}),
        ('CLUSTER_RESIZE', {'count': 2, 'regions': {'R': 2}}, {('R', None): 2}),
        ('CLUSTER_RESIZE',
         {'count': 1, 'places': [{'region_name': 'R', 'zone': 'a', 'count': 1}]}, {('R', 'a'): 1}),
        ('CLUSTER_SCALE_IN', {'count': 2}, {(None, None): 2}),
        ('CLUSTER_SCALE_IN', {'count': 2, 'candidates': ['n1', 'n2']}, {}),
        ('NODE_DELETE', {'count': 1}, {}),
        ('CLUSTER_RESIZE', None, {}),
    ],
)  # fmt: skip
def test_unnamed_victims_are_counted_by_the_places_of_the_plan(action, deletion, expected):
    """Victims that no policy chose count by region and zone, as far as they are planned."""
    data = {'deletion': deletion} if deletion else {'status': 'OK'}

    assert unnamed_victims(action, data) == expected


@pytest.mark.parametrize(
    ('types', 'expected'),
    [
        (['my.old'], 'chosen by p0: because of my.old'),
        (['senlin.policy.zone_placement', 'my.old'], 'chosen by p1: because of my.old'),
        (['my.old', 'senlin.policy.deletion', 'my.late'], 'chosen by p0: because of my.old'),
        (['my.old', 'my.young'], ''),
        (['senlin.policy.deletion', 'my.late'], ''),
        ([], ''),
    ],
)
def test_reason_names_the_only_plugin_before_the_deletion_policy(types, expected):
    """A plugin is named only if no other policy can have chosen the victim."""
    decisions = [
        Decision(f'p{i}', None, f'{name}-1.0', 1, 'APPLIED', f'because of {name}', 0, {})
        for i, name in enumerate(types)
    ]
    asked = codec.decode(request('CLUSTER_SCALE_IN', [], nodes(a=1)), CheckRequest)
    reply = CheckReply(action=ActionPatch('act-1', {}), cluster=None, nodes={}, decisions=decisions)

    assert reason_of_choice('n1', asked, reply) == expected
