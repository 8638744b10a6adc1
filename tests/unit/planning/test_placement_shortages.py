"""Growing while places are short of capacity: temporary caps, probes, and the errors."""

import datetime
import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.model import Node
from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import grow
from placement_worker.planning.places import NO_CAP, Place
from placement_worker.planning.shortage import Shortage

NOON = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
WAITING = Shortage(1, NOON, 0)
PROBING = Shortage(1, NOON, 1)


def refused(text, hour):
    """Return a shortage with the node that failed last."""
    failed = Node('n', status_reason=text, updated_at=NOON.replace(hour=hour))
    return Shortage(1, NOON, 0, failed=failed)


@st.composite
def creations(draw):
    """Draw places of which some are short of capacity, the nodes in them, and a number."""
    places = [
        Place(
            name,
            draw(st.sampled_from([50, 100, 300])),
            cap=draw(st.sampled_from([NO_CAP, NO_CAP, 0, 2, 5])),
            available=draw(st.sampled_from([True, True, True, False])),
            shortage=draw(st.sampled_from([None, WAITING, PROBING])),
        )
        for name in draw(st.sampled_from(['a', 'ab', 'abc', 'abcd']))
    ]
    return (
        places,
        {place.name: draw(st.integers(0, 4)) for place in places},
        draw(st.integers(1, 6)),
    )


def room(place, held, count):
    """Return the number of nodes that a place may get, by the written rule."""
    if not place.available:
        return 0
    limits = [count] + ([max(0, place.cap - held)] if place.cap != NO_CAP else [])
    return min(limits + ([place.shortage.room] if place.shortage else []))


def distance(counts, places):
    """Return the chi-square distance of the counts to the ideal shares."""
    total, weight = sum(counts), sum(place.weight for place in places)
    return sum(
        (x - Fraction(total * place.weight, weight)) ** 2 / place.weight
        for x, place in zip(counts, places, strict=True)
    )


@given(creations())
def test_plan_with_temporary_caps_equals_brute_force(creation):
    """No other plan within all caps is better; without such a plan, the room is stated."""
    places, held, count = creation
    rooms = [room(place, held[place.name], count) for place in places]
    ranges = [
        range(held[place.name], held[place.name] + most + 1)
        for place, most in zip(places, rooms, strict=True)
    ]

    if sum(rooms) < count:
        with pytest.raises(NoFeasiblePlan) as raised:
            grow(places, held, count)
        assert raised.value.details['possible'] == sum(rooms)
        return
    final = [row.final for row in grow(places, held, count).rows]

    size = sum(held.values()) + count
    others = (other for other in itertools.product(*ranges) if sum(other) == size)
    assert tuple(final) in itertools.product(*ranges)
    assert distance(final, places) == min(distance(other, places) for other in others)


@given(creations())
def test_place_short_of_capacity_gets_at_most_one_node(creation):
    """A plan gives no node to a place that waits, and at most one to a place that is probed."""
    places, held, count = creation
    try:
        rows = grow(places, held, count).rows
    except NoFeasiblePlan:
        return

    for place, row in zip(places, rows, strict=True):
        if place.shortage:
            assert row.planned <= place.shortage.room


@pytest.mark.parametrize(
    ('place', 'held', 'note'),
    [
        (Place('a', shortage=WAITING), 0, 'short of capacity until 2026-11-22T12:00:00Z'),
        (Place('a', shortage=PROBING), 0, 'short of capacity: one probe'),
        (Place('a', cap=1, shortage=PROBING), 0, 'short of capacity: one probe, at its cap'),
        (Place('a', available=False, shortage=WAITING), 0, 'unavailable'),
    ],
)
def test_row_notes_the_shortage_of_its_place(place, held, note):
    """The row of a place says until when it gets no node, or that it gets a probe."""
    rows = grow([place, Place('b', weight=1)], {'a': held}, 2).rows

    assert rows[0].note == note


@pytest.mark.parametrize(
    ('places', 'count', 'reason'),
    [
        (
            [
                Place('a', shortage=WAITING),
                Place('b', shortage=Shortage(2, NOON.replace(hour=9), 0)),
            ],
            3,
            'No node can be created: a (short of capacity until 2026-11-22T12:00:00Z), '
            'b (short of capacity until 2026-11-22T09:00:00Z); '
            'the next probe is possible at 2026-11-22T09:00:00Z',
        ),
        (
            [Place('a', shortage=WAITING), Place('b', shortage=PROBING)],
            3,
            'Only 1 of 3 nodes can be created: a (short of capacity until 2026-11-22T12:00:00Z), '
            'b (short of capacity: one probe); '
            'the next probe is possible at 2026-11-22T12:00:00Z',
        ),
        (
            [Place('a', shortage=PROBING), Place('b', available=False)],
            2,
            'Only 1 of 2 nodes can be created: a (short of capacity: one probe), b (unavailable)',
        ),
        (
            [
                Place('a', shortage=refused('first', 10)),
                Place('b', shortage=refused('No "host"\n' + 'x' * 191, 11)),
                Place('c', shortage=WAITING),
            ],
            1,
            'No node can be created: a (short of capacity until 2026-11-22T12:00:00Z), '
            'b (short of capacity until 2026-11-22T12:00:00Z), '
            'c (short of capacity until 2026-11-22T12:00:00Z); '
            f'the latest failure was "No "host"\\n{"x" * 190}..."; '
            'the next probe is possible at 2026-11-22T12:00:00Z',
        ),
        (
            [Place('a', cap=1, shortage=WAITING)],
            2,
            'There is no feasible plan to handle all nodes.',
        ),
    ],
    ids=['all wait', 'one is probed', 'none waits', 'a quote', 'a cap leaves no room either'],
)
def test_creation_beyond_the_room_names_the_shortages_and_the_next_probe(places, count, reason):
    """The error says how many nodes are possible now, why, and when to try again."""
    with pytest.raises(NoFeasiblePlan) as raised:
        grow(places, {}, count)

    assert str(raised.value) == reason
