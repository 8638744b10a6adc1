"""Typed views of an action's data: what they read, what they keep, and what they refuse."""

from contextlib import nullcontext

import pytest

from placement_worker.contract import action_data
from placement_worker.contract.action_data import (
    ActionData,
    Creation,
    Deletion,
    PlaceCount,
    Placement,
)
from placement_worker.errors import InvalidInput


def refusal(read):
    """Return the text of the error that a view raises."""
    with pytest.raises(InvalidInput) as refused:
        read()
    return str(refused.value)


def test_absent_changes_have_defaults():
    """Data without a decision read as one node, no plan, no victims and no created nodes."""
    data = ActionData({})

    assert (data.creation.count, data.creation.nodes, data.creation.regions) == (1, [], None)
    assert data.deletion.candidates is data.deletion.places is data.deletion.zones is None
    assert data.decided(['creation', 'deletion']) == []
    assert [Deletion(one).grace_period for one in ({}, {'grace_period': 0})] == [None, 0]


def test_decided_changes_are_those_of_the_given_kinds():
    """Only the kinds asked for are returned, in the order given; each must be a map."""
    data = ActionData({'deletion': {'count': 2}, 'creation': {'count': 3}})

    assert [change.count for change in data.decided(['creation', 'deletion'])] == [3, 2]
    assert [change.count for change in data.decided(['deletion'])] == [2]
    assert refusal(lambda: ActionData({'creation': 3}).change('creation')) == (
        'Expected `object`, got `3` - at `$.action.data.creation`'
    )


@pytest.mark.parametrize(
    ('decided', 'expected'),
    [
        ({}, None),
        ({'zones': {'a': 1}}, {'a': 1}),
        ({'zone': {'a': 1}}, {'a': 1}),
        ({'zones': {}, 'zone': {'a': 1}}, {'a': 1}),
        ({'zones': {'b': 2}, 'zone': {'a': 1}}, {'b': 2}),
        ({'zones': {}}, {}),
    ],
)
def test_zones_are_read_from_the_first_key_that_holds_any(decided, expected):
    """The plural key takes precedence; a singular key with counts replaces an empty plural one."""
    assert Deletion(decided).zones == expected


@pytest.mark.parametrize(
    ('key', 'value', 'error'),
    [
        ('count', {}, '`int`, got `object` - at `{}.count`'),
        ('zones', [1], '`object`, got `array` - at `{}.zones`'),
        ('zones', {'a': -1}, '`int` >= 0, got `-1` - at `{}.zones.a`'),
        ('grace_period', -1, '`int` >= 0, got `-1` - at `{}.grace_period`'),
        ('candidates', 'n1', '`array`, got `"n1"` - at `{}.candidates`'),
        ('places', {}, '`array`, got `object` - at `{}.places`'),
        ('places', [{'zone': 'a', 'count': 1}],
         '`object` with `region_name`, got `object` - at `{}.places[0]`'),
        ('places', [{'region_name': 'R1', 'zone': 1, 'count': 1}],
         '`str`, got `1` - at `{}.places[0].zone`'),
        ('places', [{'region_name': 'R1', 'zone': 'a'}],
         '`int`, got `null` - at `{}.places[0].count`'),
    ],
)  # fmt: skip
def test_invalid_value_is_refused_when_it_is_read(key, value, error):
    """The error names the path; other keys of the same map can be read."""
    deletion = Deletion({'count': 2, key: value})

    message = f'Expected {error}'.format('$.action.data.deletion')
    assert refusal(lambda: getattr(deletion, key)) == message
    assert deletion.regions is None


def test_places_are_decoded_with_and_without_a_zone():
    """An entry has a region, a count and optionally a zone."""
    places = [{'region_name': 'R1', 'zone': 'a', 'count': 1}, {'region_name': 'R2', 'count': 2}]

    counts = [PlaceCount('R1', 'a', 1), PlaceCount('R2', None, 2)]
    assert Deletion({'places': places}).places == counts


@pytest.mark.parametrize(
    ('view', 'total', 'fits'),
    [
        (Creation, 1, False),
        (Creation, 2, True),
        (Creation, 3, False),
        (Deletion, 1, True),  # the rest comes from nodes of unknown region
        (Deletion, 3, False),
    ],
)
def test_regions_must_fit_the_count(view, total, fits):
    """The shares of a creation must equal its count; those of a deletion must not exceed it."""
    change = view({'regions': {'R1': total}})

    if fits:
        assert change.regions_of(2) == {'R1': total}
    else:
        assert refusal(lambda: change.regions_of(2)) == (
            f'Expected a plan for 2 nodes, got one for {total} - at '
            f'`$.action.data.{view.kind}.regions`'
        )


def test_total_beyond_the_count_is_refused():
    """A plan that removes more nodes than the action raises an error; fewer are allowed."""
    Deletion({}).check_total(2, 2)
    assert Deletion({}).regions_of(2) is None
    assert refusal(lambda: Deletion({}).check_total(3, 2)) == (
        'Expected a plan for at most 2 nodes, got one for 3 - at `$.action.data.deletion`'
    )


@pytest.mark.parametrize(
    ('candidates', 'count'), [(['n1', 7], 2), ([], 0), ('n1', None), (None, None)]
)
def test_candidate_count_does_not_depend_on_valid_ids(candidates, count):
    """The number of listed victims is known even if an entry is no id."""
    assert Deletion({'candidates': candidates}).candidate_count == count


def test_replanned_change_drops_the_earlier_plan_only():
    """A new plan replaces places, regions and zones of an earlier one; other keys stay."""
    deletion = Deletion({'mark': 1, 'zones': {'a': 1}, 'region': {}, 'places': []})

    assert deletion.replanned(2, regions={'R1': 2}) == {'mark': 1, 'count': 2, 'regions': {'R1': 2}}
    assert list(deletion.updated(count=2, mark=2).items())[:2] == [('mark', 2), ('zones', {'a': 1})]


def test_planned_data_replace_an_earlier_plan():
    """The plan and the entries take their keys; all other keys stay."""
    data = ActionData(
        {'mark': 1, 'creation': {'zones': {'x': 1}, 'hook': 2}, 'placement': {'group': 'g'}}
    )

    planned = data.planned('creation', 1, {'regions': {'R1': 1}}, [{'region_name': 'R1'}])

    assert planned == {
        'mark': 1,
        'creation': {'hook': 2, 'count': 1, 'regions': {'R1': 1}},
        'placement': {'group': 'g', 'count': 1, 'placements': [{'region_name': 'R1'}]},
    }
    assert data.planned('deletion', 2, {'zones': {'a': 2}})['placement'] == {'group': 'g'}


@pytest.mark.parametrize(
    ('before', 'place', 'after'),
    [
        (None, {'zone': 'a'}, {'zone': 'a'}),
        ('x', {'zone': 'a'}, {'zone': 'a'}),
        ({'zone': 'b', 'group': 'g'}, {'zone': 'a'}, {'zone': 'a', 'group': 'g'}),
        ({'zone': 'b', 'group': 'g'}, {'region_name': 'R1'}, {'region_name': 'R1', 'group': 'g'}),
    ],
)
def test_moved_placement_drops_the_zone_of_another_region(before, place, after):
    """A move keeps unknown keys; a zone without its region would be wrong."""
    assert Placement.of(before).moved(place) == after
    assert Placement.of(after).is_at(place)
    assert not Placement.of(before).is_at(place)


@pytest.mark.parametrize(
    ('before', 'after'),
    [
        (None, {'count': 2, 'placements': [{'zone': 'a'}, {'zone': 'b'}]}),
        ({'placements': 'x'}, {'count': 2, 'placements': [{'zone': 'a'}, {'zone': 'b'}]}),
        ({'mark': 1, 'placements': [{'group': 'g'}, 3, {'zone': 'c'}]},
         {'mark': 1, 'count': 2, 'placements': [{'group': 'g', 'zone': 'a'}, {'zone': 'b'}]}),
    ],
)  # fmt: skip
def test_placement_with_entries_has_one_per_place(before, after):
    """There is one entry per new node; unknown keys of earlier entries stay."""
    placement = Placement.of(before)

    assert placement.with_entries([{'zone': 'a'}, {'zone': 'b'}]) == after


@pytest.mark.parametrize(
    ('kind', 'plan', 'entries', 'error'),
    [
        ('creation', {}, [], None),
        ('creation', {'zones': {'a': 1, 'b': 1}}, [{'zone': 'a'}, {'zone': 'b'}], None),
        ('creation', {'zones': {'a': 1}, 'regions': {'R': 2}}, [{}, {}], None),
        ('deletion', {'zones': {'a': 2, 'b': 1}}, [], 'zones must have at most 2 nodes, got 3'),
        ('deletion', {'regions': {'R': 3}}, [], 'regions must have at most 2 nodes, got 3'),
        ('deletion', {}, [{}], 'entries must have 2 places, got 1'),
        ('Creation', {}, [], "kind must be 'creation' or 'deletion', got 'Creation'"),
    ],
)
def test_plan_of_a_policy_must_fit_its_count(kind, plan, entries, error):
    """A plan may name fewer zones than nodes; a contradiction names the values of the policy."""
    with pytest.raises(ValueError, match=f'^{error}$') if error else nullcontext():
        action_data._check_plan(kind, 2, plan, entries)
