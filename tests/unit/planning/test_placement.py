"""Growing and shrinking: bounds, caps, unlisted places and nodes of unknown place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import grow, plan_for, shrink
from placement_worker.planning.places import Held, Place
from placement_worker.planning.sizing import Size

A, B, C = Place('a'), Place('b'), Place('c')


@pytest.mark.parametrize(
    ('places', 'held', 'count', 'planned'),
    [
        ([A, B, C], {}, 4, {'a': 2, 'b': 1, 'c': 1}),
        ([A, Place('b', 200)], {}, 3, {'a': 1, 'b': 2}),
        ([A, B], {'a': 4, 'b': 0}, 2, {'b': 2}),
        ([Place('a', cap=2), B], {}, 10, {'a': 2, 'b': 8}),
        ([Place('a', cap=2), B], {'a': 5}, 3, {'b': 3}),
        ([A, Place('b', available=False)], {'b': 9}, 2, {'a': 2}),
        ([A, Place('b', known=False, available=False)], {'b': 9}, 2, {'a': 2}),
        ([A, B], {'x': 9}, 3, {'a': 2, 'b': 1}),
    ],
    ids=[
        'equal places differ by at most one',
        'weights are respected',
        'the emptiest place is filled first',
        'nodes above a cap go to other places',
        'a place above its cap gets no node',
        'an unavailable place gets no node',
        'an unknown place gets no node',
        'nodes in unlisted places do not count',
    ],
)
def test_growing_fills_the_places_furthest_below_their_ideal(places, held, count, planned):
    """New nodes go to the available places that are furthest below their ideal share."""
    assert grow(places, held, count).counts == planned


@pytest.mark.parametrize(
    ('places', 'held', 'unplaced', 'count', 'planned', 'removed_unplaced'),
    [
        ([A, B], {'a': 2, 'b': 2}, 0, 1, {'b': 1}, 0),
        ([A, B], {'a': 2, 'b': 2}, 0, 3, {'a': 1, 'b': 2}, 0),
        ([A, B], {'a': 1, 'b': 1}, 3, 4, {'b': 1}, 3),
        ([A, B], {'a': 1, 'b': 2, 'x': 1}, 0, 2, {'b': 1, 'x': 1}, 0),
        ([A], {'a': 1, 'x': 3, 'y': 2}, 0, 2, {'x': 2}, 0),
        ([A], {'a': 1, 'x': 2, 'y': 2}, 0, 1, {'x': 1}, 0),
        ([Place('a', 300, cap=2), B], {'a': 5, 'b': 5}, 0, 2, {'a': 2}, 0),
        ([Place('a', 300, cap=2), B], {'a': 5, 'b': 5}, 0, 4, {'a': 3, 'b': 1}, 0),
        ([A, Place('b', available=False)], {'a': 2, 'b': 2}, 0, 2, {'a': 1, 'b': 1}, 0),
        ([A, Place('b', known=False, available=False)], {'a': 2, 'b': 2}, 0, 2, {'b': 2}, 0),
        ([A], {'a': 2}, 1, 3, {'a': 2}, 1),
    ],
    ids=[
        'the later of equal places gives first',
        'equal places give alternately',
        'nodes of unknown place leave first',
        'nodes in unlisted places leave next',
        'the fullest unlisted place gives first',
        'of equally full unlisted places the first by name gives',
        'nodes above a cap leave next',
        'the cheapest nodes stay below the cap',
        'an unavailable place keeps its weight',
        'an unknown place counts as unlisted',
        'all nodes can leave',
    ],
)
def test_shrinking_removes_nodes_in_the_order_of_the_stages(
    places, held, unplaced, count, planned, removed_unplaced
):
    """Nodes leave in the documented order: unknown place, unlisted places, above caps, the rest."""
    plan = shrink(places, [{**held, None: unplaced}], count)

    assert plan.counts == planned
    assert plan.unplaced == removed_unplaced


def test_growing_beyond_the_caps_has_no_feasible_plan():
    """Caps that leave too little room raise NoFeasiblePlan with Senlin's text."""
    with pytest.raises(NoFeasiblePlan, match=r'^There is no feasible plan to handle all nodes\.$'):
        grow([Place('a', cap=2), Place('b', cap=1)], {'a': 1}, 3)


def test_shrinking_by_more_nodes_than_exist_has_no_feasible_plan():
    """Removing more nodes than there are raises NoFeasiblePlan with Senlin's text."""
    with pytest.raises(NoFeasiblePlan, match=r'^There is no feasible plan to handle all nodes\.$'):
        shrink([A], [{'a': 1, 'x': 1, None: 1}], 4)


def test_rows_show_each_place_before_and_after():
    """Each listed and unlisted place has a row with its counts, its ideal share and a note."""
    places = [
        A,
        Place('b', cap=2),
        Place('c', available=False),
        Place('d', known=False, available=False),
    ]

    rows = grow(places, {'a': 1, 'b': 2, 'x': 1}, 2).rows

    assert [(r.name, r.usable, r.current, r.ideal, r.planned, r.final, r.note) for r in rows] == [
        ('a', True, 1, 2.5, 2, 3, ''),
        ('b', True, 2, 2.5, 0, 2, 'at its cap'),
        ('c', False, 0, 0, 0, 0, 'unavailable'),
        ('d', False, 0, 0, 0, 0, 'unknown to the cloud'),
        ('x', False, 1, 0, 0, 1, 'not listed'),
    ]


@given(
    held=st.dictionaries(st.sampled_from('abcxy'), st.integers(0, 9)),
    unplaced=st.integers(0, 5),
    caps=st.lists(st.integers(-1, 6), min_size=3, max_size=3),
    data=st.data(),
)
def test_shrinking_accounts_for_every_node(held, unplaced, caps, data):
    """The planned counts and the unplaced nodes add up to the number asked for."""
    count = data.draw(st.integers(0, sum(held.values()) + unplaced))
    places = [Place(name, cap=cap) for name, cap in zip('abc', caps, strict=True)]

    plan = shrink(places, [{**held, None: unplaced}], count)

    assert sum(plan.counts.values()) + plan.unplaced == count
    assert all(row.final == row.current - row.planned >= 0 for row in plan.rows)


@pytest.mark.parametrize(
    ('kind', 'expected'), [(CREATION, {'b': 1}), (DELETION, {'a': 1})], ids=['grow', 'shrink']
)
def test_plan_grows_or_shrinks_by_the_kind_of_the_size(kind, expected):
    """A creation fills the emptier place; a deletion takes from the fuller one."""
    groups = [{'a': 2, 'b': 1}]

    plan = plan_for(Size(kind, 1), [Place('a'), Place('b')], Held(groups))

    assert plan.counts == expected
