"""The order of the places to try next."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.alternatives import MOST, alternatives
from placement_worker.planning.placement import grow
from placement_worker.planning.places import NO_CAP, Place
from placement_worker.planning.shortage import Shortage
from tests.factories import NOW

WAITING, PROBING = Shortage(1, NOW, 0), Shortage(1, NOW, 1)


@st.composite
def creations(draw):
    """Draw places of which some are limited, the nodes in them, and a number that fits."""
    places = [
        Place(
            name,
            draw(st.sampled_from([50, 100, 300])),
            cap=draw(st.sampled_from([NO_CAP, NO_CAP, 9])),
            available=draw(st.sampled_from([True, True, False])),
            shortage=draw(st.sampled_from([None, None, WAITING, PROBING])),
        )
        for name in 'abc'
    ]
    held = {place.name: draw(st.integers(0, 4)) for place in places}
    return [*places, Place('d')], held, draw(st.integers(1, 6))


def distance(counts, places):
    """Return the chi-square distance of the counts to the ideal shares."""
    total, weight = sum(counts.values()), sum(place.weight for place in places)
    return sum(
        (counts[place.name] - Fraction(total * place.weight, weight)) ** 2 / place.weight
        for place in places
    )


def moved(counts, place, other):
    """Return the counts with one node in another place, or in the same one."""
    left = {**counts, place: counts[place] - 1}
    return {**left, other: left.get(other, 0) + 1}


@given(creations())
def test_alternatives_are_in_the_order_of_the_best_counts(creation):
    """A node that moves to an earlier alternative leaves counts that are at least as good."""
    places, held, count = creation
    plan = grow(places, held, count)
    final = {row.name: row.final for row in plan.rows}

    for place, others in alternatives(plan, places).items():
        distances = [distance(moved(final, place, other), places) for other in others]
        assert distances == sorted(distances)
        assert place not in others


@given(creations(), st.data())
def test_retries_in_alternatives_exceed_no_cap(creation, data):
    """No cap and no shortage is exceeded, whichever nodes fail and wherever they are retried."""
    places, held, count = creation
    plan = grow(places, held, count)
    planned, others = dict(plan.counts), alternatives(plan, places)
    for place, number in plan.counts.items():
        for _ in range(number if place in others else 0):
            planned = moved(planned, place, data.draw(st.sampled_from([place, *others[place]])))

    assert sum(planned.values()) == count
    for place in places:
        new = planned.get(place.name, 0)
        if place.cap != NO_CAP:
            assert new == 0 or held.get(place.name, 0) + new <= place.cap
        if place.shortage:
            assert new <= place.shortage.room
        assert new == 0 or place.available


@pytest.mark.parametrize(
    'other',
    [
        Place('b', available=False),
        Place('b', shortage=PROBING),
        Place('b', cap=3),
    ],
    ids=['unavailable', 'short of capacity', 'room for too few nodes'],
)
def test_place_without_room_for_all_nodes_is_no_alternative(other):
    """A place must have room for each node of the plan, since each of them may fail."""
    places = [Place('a', 1000), other]

    assert alternatives(grow(places, {}, 4), places) == {}


def test_alternatives_of_many_places_are_bounded():
    """A reply has at most ten alternatives of a place."""
    places = [Place(f'a{number:02}') for number in range(30)]

    found = alternatives(grow(places, {}, 1), places)

    assert found == {'a00': [f'a{number:02}' for number in range(1, MOST + 1)]}
