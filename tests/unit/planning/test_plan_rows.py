"""The rows of a plan."""

import pytest

from placement_worker.planning.places import Place
from placement_worker.planning.plan_rows import Plan, listed_rows, unlisted_rows, with_protected


def rows(places, held, final):
    """Return the rows of places that are usable if they are available."""
    return listed_rows(places, held, final, [place.available for place in places])


@pytest.mark.parametrize(
    ('place', 'final', 'note'),
    [
        (Place('a'), 3, ''),
        (Place('a', available=False), 3, 'unavailable'),
        (Place('a', cap=4), 3, ''),
        (Place('a', cap=3), 3, 'at its cap'),
        (Place('a', cap=2), 3, 'over its cap'),
    ],
)
def test_row_of_a_listed_place_notes_its_obstacle_or_its_cap(place, final, note):
    """The note of a row says why the place takes no more nodes."""
    [row] = rows([place], [1], [final])

    assert (row.current, row.planned, row.final, row.note) == (1, final - 1, final, note)


def test_rows_divide_the_size_over_usable_places_alone():
    """An unusable place has no share, and its nodes do not count."""
    found = rows(
        [Place('a', 100), Place('b', 300), Place('c', available=False)], [0] * 3, [1, 3, 2]
    )

    assert [row.ideal for row in found] == [1, 3, 0]


def test_counts_of_a_plan_are_by_name_without_zeros():
    """Places that gain or lose no node are left out."""
    plan = Plan(rows([Place('b'), Place('a'), Place('c')], [0, 0, 1], [1, 2, 1]))

    assert list(plan.counts.items()) == [('a', 2), ('b', 1)]


def test_rows_of_unlisted_places_say_whether_the_policy_lists_them():
    """A listed place that the cloud does not know keeps its weight and cap in its row."""
    lost = Place('lost', 200, cap=5, known=False, available=False)

    found = unlisted_rows([lost], {'x': 2, 'lost': 3}, {'x': 0, 'lost': 2})

    assert [(row.name, row.weight, row.cap, row.planned, row.note) for row in found] == [
        ('lost', 200, 5, 1, 'unknown to the cloud'),
        ('x', 0, -1, 2, 'not listed'),
    ]


def test_rows_with_protected_nodes_note_their_number():
    """The number of protected nodes follows the other note of a row."""
    found = with_protected(rows([Place('a', cap=1), Place('b')], [1, 1], [1, 1]), {'a': 1})

    assert [row.note for row in found] == ['at its cap, 1 protected', '']
