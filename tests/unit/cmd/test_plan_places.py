"""The nodes by place before and after an action."""

import pytest

from placement_worker.cmd import plan_comparison
from placement_worker.cmd.plan_changes import PlaceChange
from placement_worker.contract import codec
from placement_worker.contract.model import CheckReply, CheckRequest
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

MEMBERS = nodes(a=2, b=2)


def compare(asked, replied):
    return plan_comparison.compare(
        codec.decode(asked, CheckRequest), codec.decode(replied, CheckReply)
    )


def plugin_wrote(replied, **data):
    """Return a reply in whose data a later policy of a plugin wrote other values."""
    action = {**replied['action'], 'data': {**replied['action']['data'], **data}}
    return {**replied, 'action': action}


@pytest.mark.parametrize('region', [None, 'R1'])
def test_changes_with_a_replaced_creation_are_those_of_the_reply(check, region):
    """If a plugin replaces the plan of the placement policies, the new entries are counted."""
    members = [node(1, 'a', region), node(2, 'b', region)]
    policies = [zone_policy('a', 'b')] + [region_policy('R1')] * bool(region)
    asked = request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': 2}, explain='full')
    place = {'region_name': region} if region else {}
    replied = plugin_wrote(
        check(asked, 'abc', ['R1']),
        creation={'count': 2, 'zones': {'b': 1, 'c': 1}},
        placement={'count': 2, 'placements': [{**place, 'zone': zone} for zone in 'bc']},
    )

    zones = compare(asked, replied).places['zones']

    prefix = 'R1/' if region else ''
    changes = [('a', 1, 1), ('b', 1, 2), ('c', 0, 1)]
    assert zones == [PlaceChange(prefix + name, *counts) for name, *counts in changes]


def test_changes_with_an_unchanged_plan_keep_its_notes(check):
    """The plan of a placement policy that no later policy replaced is shown with its notes."""
    asked = request(
        'CLUSTER_SCALE_OUT', [zone_policy('a', 'z')], MEMBERS, inputs={'count': 1}, explain='full'
    )

    zones = compare(asked, check(asked, 'ab')).places['zones']

    assert PlaceChange('a', 2, 3) in zones
    assert [row.note for row in zones if row.name == 'z'] == ['unknown to the cloud']


@pytest.mark.parametrize('policies', [[], [deletion_policy()]])
def test_changes_with_other_victims_than_planned_are_those_of_the_victims(check, policies):
    """If a plugin chooses other victims after zone placement, their places are counted."""
    asked = request(
        'CLUSTER_SCALE_IN',
        [zone_policy('a', 'b'), *policies],
        MEMBERS,
        inputs={'count': 2},
        explain='full',
    )
    deletion = {'count': 2, 'zones': {'a': 1, 'b': 1}, 'candidates': ['n1', 'n2']}

    found = compare(asked, plugin_wrote(check(asked, 'ab'), deletion=deletion))

    assert found.places == {'zones': [PlaceChange('a', 2, 0), PlaceChange('b', 2, 2)]}


@pytest.mark.parametrize(
    ('action', 'data', 'expected'),
    [
        (
            'CLUSTER_SCALE_OUT',
            {
                'creation': {'count': 2},
                'placement': {'placements': [{'zone': 'b'}, {'zone': 'new'}]},
            },
            {'zones': [('a', 2, 2), ('b', 2, 3), ('new', 0, 1)]},
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'creation': {'count': 1, 'zones': {'b': 1}}},
            {'zones': [('a', 2, 2), ('b', 2, 3)]},
        ),
        (
            'CLUSTER_SCALE_OUT',
            {'creation': {'count': 1, 'regions': {'R2': 1}}},
            {'regions': [('a', 2, 2), ('b', 2, 2), ('R2', 0, 1)]},
        ),
        (
            'CLUSTER_SCALE_IN',
            {'deletion': {'count': 1, 'zones': {'b': 1}}},
            {'zones': [('a', 2, 2), ('b', 2, 1)]},
        ),
        (
            'CLUSTER_SCALE_IN',
            {'deletion': {'count': 1, 'places': [{'region_name': 'R', 'zone': 'b', 'count': 1}]}},
            {'zones': [('a', 2, 2), ('b', 2, 2), ('R/b', 0, 0)]},
        ),
        ('CLUSTER_SCALE_OUT', {'creation': {'count': 1}}, {}),
    ],
)
def test_changes_without_a_placement_policy_are_those_of_the_data(check, action, data, expected):
    """The plan of a plugin alone is shown by place."""
    asked = request(action, [], MEMBERS)

    found = compare(asked, plugin_wrote(check(asked), **data))

    assert {
        kind: [(row.name, row.before, row.after) for row in rows]
        for kind, rows in found.places.items()
    } == expected


def test_changes_with_details_of_a_plugin_ignore_them(check):
    """The details of a plugin have its own form, also under the names of rows."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], MEMBERS, inputs={'count': 1})
    replied = check(asked, 'ab')
    names = ('zones', 'regions', 'victims', 'protected_nodes')
    own = {
        **replied['decisions'][0],
        'policy_type': 'acme.policy.own-1.0',
        'details': {name: ['a', {'b': 1}] for name in names},
    }

    found = compare(asked, {**replied, 'decisions': [*replied['decisions'], own]})

    assert found.places['zones'][0] == PlaceChange('a', 2, 3)
