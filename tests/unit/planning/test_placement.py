"""Growing and shrinking: bounds, caps, strays and nodes of unknown place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import Place, grow, shrink

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
        'never two ahead of an equal',
        'by weight',
        'to where fewest are',
        'what a cap refuses goes to others',
        'a place over its cap gets none',
        'an unavailable place gets none',
        'nor does one that is gone',
        'strays do not count',
    ],
)
def test_new_nodes_go_where_the_ideal_is_missed_most(places, held, count, planned):
    assert grow(places, held, count).counts == planned


@pytest.mark.parametrize(
    ('places', 'held', 'unplaced', 'count', 'planned', 'from_nowhere'),
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
        'the later of equals gives first',
        'then in turn',
        'unknown places first',
        'then strays',
        'from the fullest stray place',
        'of equally full ones the first by name',
        'then what exceeds a cap',
        'then the rule',
        'a place that is down keeps its weight',
        'one that is gone is a stray',
        'down to nothing',
    ],
)
def test_nodes_leave_from_where_they_are_worth_least(
    places, held, unplaced, count, planned, from_nowhere
):
    plan = shrink(places, [{**held, None: unplaced}], count)

    assert plan.counts == planned
    assert plan.unplaced == from_nowhere


def test_caps_that_leave_too_little_room_make_no_plan():
    with pytest.raises(NoFeasiblePlan, match=r'^There is no feasible plan to handle all nodes\.$'):
        grow([Place('a', cap=2), Place('b', cap=1)], {'a': 1}, 3)


def test_more_nodes_than_there_are_cannot_leave():
    with pytest.raises(NoFeasiblePlan, match=r'^There is no feasible plan to handle all nodes\.$'):
        shrink([A], [{'a': 1, 'x': 1, None: 1}], 4)


def test_rows_say_what_became_of_each_place():
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
def test_every_node_is_accounted_for_when_shrinking(held, unplaced, caps, data):
    count = data.draw(st.integers(0, sum(held.values()) + unplaced))
    places = [Place(name, cap=cap) for name, cap in zip('abc', caps, strict=True)]

    plan = shrink(places, [{**held, None: unplaced}], count)

    assert sum(plan.counts.values()) + plan.unplaced == count
    assert all(row.final == row.current - row.planned >= 0 for row in plan.rows)
