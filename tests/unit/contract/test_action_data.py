"""Typed views of an action's data: what they read, what they keep, and what they refuse."""

from contextlib import nullcontext

import pytest

from placement_worker.contract import action_data
from placement_worker.contract.action_data import Creation, Deletion, Placement
from placement_worker.errors import InvalidInput


def refusal(read):
    with pytest.raises(InvalidInput) as refused:
        read()
    return str(refused.value)


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
        assert change.checked_regions(2) == {'R1': total}
    else:
        assert refusal(lambda: change.checked_regions(2)) == (
            f'Expected a plan for 2 nodes, got one for {total} - at '
            f'`$.action.data.{view.kind}.regions`'
        )


@pytest.mark.parametrize(
    ('candidates', 'count'), [(['n1', 7], 2), ([], 0), ('n1', None), (None, None)]
)
def test_candidate_count_does_not_depend_on_valid_ids(candidates, count):
    """The number of listed victims is known even if an entry is no id."""
    assert Deletion({'candidates': candidates}).candidate_count == count


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
