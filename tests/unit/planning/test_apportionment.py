"""Apportionment: the counts are the best ones, and stable as the total grows."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.apportionment import apportion

WEIGHTS = st.one_of(st.sampled_from([1, 50, 100, 200, 300]), st.integers(1, 10**9))


@st.composite
def problems(draw, most_places=4, most_units=6):
    """Draw weights, floors, ceilings, and a total between them."""
    weights = draw(st.lists(WEIGHTS, min_size=1, max_size=most_places))
    floors = [draw(st.integers(0, most_units)) for _ in weights]
    ceilings = [low + draw(st.integers(0, most_units)) for low in floors]
    return draw(st.integers(sum(floors), sum(ceilings))), weights, floors, ceilings


def one_by_one(total, weights, floors, ceilings):
    """Apply the published rule unit by unit: the next unit goes to the greatest w/(2x+1)."""
    counts = list(floors)
    while sum(counts) < total:
        open_places = [i for i in range(len(weights)) if counts[i] < ceilings[i]]
        counts[
            min(
                open_places, key=lambda i: (Fraction(2 * counts[i] + 1, weights[i]), -weights[i], i)
            )
        ] += 1
    return counts


@given(problems(most_places=8, most_units=40))
def test_apportionment_with_ties_equals_the_unit_by_unit_rule(problem):
    """The counts equal those of assigning one unit after the other by the published rule."""
    assert apportion(*problem) == one_by_one(*problem)


def test_apportionment_without_places_is_empty():
    """No units over no places give an empty result."""
    assert apportion(0, [], [], []) == []
