"""Placement: plans equal the rule applied node by node, which leads to the best of all plans."""

import datetime
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import Node
from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import alternatives, plan_for
from placement_worker.planning.places import NO_CAP, Held, Place
from placement_worker.planning.shortage import Shortage
from placement_worker.planning.sizing import Size

A, B = Place('a'), Place('b')
LOST = Place('b', available=False, note='unavailable')
UNKNOWN = None
WEIGHTS = st.sampled_from([1, 2, 3, 50, 100, 300]) | st.integers(1, 10**9)
NOON = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
WAITING, PROBING = Shortage(1, NOON, 0), Shortage(1, NOON, 1)


def grow(places, current, count, ranks=None):
    return plan_for(Size(CREATION, count), places, Held([current], {}, ranks or {}))


def shrink(places, groups, count, staying=None, ranks=None):
    return plan_for(Size(DELETION, count), places, Held(groups, staying or {}, ranks or {}))


def total(groups):
    names = {name for group in groups for name in group}
    return {name: sum(group.get(name, 0) for group in groups) for name in names}


def removed(plan):
    return {**plan.counts, **({UNKNOWN: plan.unplaced} if plan.unplaced else {})}


@st.composite
def clusters(draw, most=4):
    """Draw places, three groups of nodes, how many are to leave, and protected nodes."""
    listed = draw(st.lists(st.sampled_from('abcd'), min_size=1, max_size=4, unique=True))
    places = []
    for name in listed:
        known = draw(st.integers(0, 4)) > 0
        cap = draw(st.integers(-1, 5))
        available = known and draw(st.integers(0, 4)) > 0
        shortage = draw(st.sampled_from([None, None, WAITING, PROBING]))
        weight = draw(WEIGHTS)
        places.append(Place(name, weight, cap, known, available, shortage=shortage))
    where = st.sampled_from([*listed, 'x', 'y', UNKNOWN])
    groups = [draw(st.dictionaries(where, st.integers(0, most))) for _ in range(3)]
    staying = draw(st.just({}) | st.dictionaries(where, st.integers(1, most)))
    nodes = sum(sum(group.values()) for group in (*groups, staying))
    return places, groups, draw(st.integers(0, nodes)), staying


@st.composite
def ranked(draw):
    """Draw a cluster, and place -> the ranks of its healthy nodes, or no ranks."""
    places, groups, count, staying = draw(clusters(most=6))
    located = [name for name, number in groups[-1].items() for _ in range(number)]
    order = draw(st.permutations(range(len(located))))
    ranks = {}
    for rank, name in sorted(zip(order, located, strict=True)):
        ranks.setdefault(name, []).append(rank)
    return places, groups, count, staying, draw(st.sampled_from([ranks, ranks, {}]))


def first_to_leave(places, left, movable, next_rank):
    """Return the place that the next node leaves, by the rule in the manual."""
    listed = {place.name: (order, place) for order, place in enumerate(places) if place.known}
    names = [name for name, count in movable.items() if count]
    if UNKNOWN in names:
        return UNKNOWN
    others = [name for name in names if name not in listed]
    if others:
        return min(others, key=lambda name: (-left[name], next_rank(name), name))
    over = [name for name in names if 0 <= listed[name][1].cap < left[name]]

    def worth(name):
        order, place = listed[name]
        price = Fraction(place.weight, 2 * left[name] - 1)
        return price, place.weight, next_rank(name), -order

    return min(over or names, key=worth)


def node_by_node(places, groups, count, staying, ranks):
    """Return place -> number of nodes that leave, found by removing one node at a time."""
    left, gone = total([*groups, staying]), {}
    healthy = dict(groups[-1])

    def next_rank(name):
        own = ranks.get(name, [])
        return own[len(own) - healthy[name]] if healthy.get(name) and own else math.inf

    for group in groups:
        movable = healthy if group is groups[-1] else dict(group)
        while count and any(movable.values()):
            name = first_to_leave(places, left, movable, next_rank)
            movable[name] -= 1
            left[name] -= 1
            gone[name] = gone.get(name, 0) + 1
            count -= 1
    return gone


@settings(max_examples=4 * settings.default.max_examples)
@given(ranked())
def test_shrink_by_groups_equals_the_rule_applied_node_by_node(problem):
    """A plan removes the nodes that the rule removes one by one, and no protected node."""
    places, groups, _, staying, _ = problem

    plan = shrink(places, groups, *problem[2:])

    assert removed(plan) == node_by_node(*problem)
    held = total([*groups, staying])
    for row in plan.rows:
        assert row.final == row.current - row.planned == held.get(row.name, 0) - row.planned


@settings(max_examples=4 * settings.default.max_examples)
@given(ranked(), st.integers(0, 20))
def test_grow_equals_the_rule_applied_node_by_node(problem, count):
    """A plan creates the nodes that the rule creates one by one, ties by the next victim.

    Without such a plan, the error states the room.
    """
    places, groups, _, staying, ranks = problem
    held = total([*groups, staying])
    created = {}

    def nodes(place):
        return held.get(place.name, 0) + created.get(place.name, 0)

    def worth(place):
        first = min(ranks.get(place.name, []), default=math.inf)
        return Fraction(2 * nodes(place) + 1, place.weight), -place.weight, first

    def has_room(place):
        is_below_cap = place.cap < 0 or nodes(place) < place.cap
        probes = created.get(place.name, 0)
        is_short = place.shortage and probes >= place.shortage.room
        return place.available and is_below_cap and not is_short

    for _ in range(count):
        room = [place for place in places if has_room(place)]
        if not room:
            with pytest.raises(NoFeasiblePlan) as raised:
                grow(places, held, count, ranks)
            assert raised.value.details['possible'] == sum(created.values())
            return
        name = min(room, key=worth).name
        created[name] = created.get(name, 0) + 1

    assert grow(places, held, count, ranks).counts == created


def distance(counts, places):
    """Return the chi-square distance of counts to the ideal shares of their sum."""
    size, weight = sum(counts), sum(place.weight for place in places)
    return sum(
        (x - Fraction(size * place.weight, weight)) ** 2 / place.weight
        for x, place in zip(counts, places, strict=True)
    )


def test_shrink_by_half_a_million_nodes_is_exact():
    """Of a million nodes, no node that stays costs more than one that leaves in the last group."""
    weights = {f'z{i}': 1 + i % 7 for i in range(100)}
    places = [Place(name, weight) for name, weight in weights.items()]
    groups = [dict.fromkeys(weights, count) for count in (1_000, 2_000, 7_000)]

    rows = shrink(places, groups, 500_000).rows

    kept = [Fraction(2 * row.final - 1, weights[row.name]) for row in rows]
    gone = [Fraction(2 * row.final + 1, weights[row.name]) for row in rows if row.planned > 3_000]
    assert sum(row.planned for row in rows) == 500_000
    assert all(row.planned >= 3_000 for row in rows)
    assert max(kept) <= min(gone)


@st.composite
def creations(draw, caps=(NO_CAP, NO_CAP, 0, 2, 5)):
    """Draw places of which some are limited, the nodes in them, and a number."""
    places = [
        Place(
            name,
            draw(st.sampled_from([50, 100, 300])),
            cap=draw(st.sampled_from(caps)),
            available=draw(st.sampled_from([True, True, True, False])),
            shortage=draw(st.sampled_from([None, WAITING, PROBING])),
        )
        for name in draw(st.sampled_from(['a', 'ab', 'abc', 'abcd']))
    ]
    held = {place.name: draw(st.integers(0, 4)) for place in places}
    return places, held, draw(st.integers(1, 6))


def room(place, held, count):
    """Return the number of nodes that a place may get, by the written rule."""
    if not place.available:
        return 0
    limits = [count] + ([max(0, place.cap - held)] if place.cap != NO_CAP else [])
    return min(limits + ([place.shortage.room] if place.shortage else []))


def noted(plan):
    return [(r.name, r.usable, r.current, r.ideal, r.planned, r.final, r.note) for r in plan.rows]


def test_rows_of_a_creation_show_each_place_before_and_after():
    """Each place has a row with its counts, its share of the nodes in usable places and a note."""
    places = [
        A,
        Place('b', 300, cap=2),
        Place('c', cap=1),
        Place('d', available=False, note='unavailable'),
        Place('e', 200, cap=5, known=False, available=False),
    ]

    plan = grow(places, {'a': 1, 'b': 2, 'c': 2, 'e': 3, 'x': 1}, 2)

    assert noted(plan) == [
        ('a', True, 1, 1.4, 2, 3, ''),
        ('b', True, 2, 4.2, 0, 2, 'at its cap'),
        ('c', True, 2, 1.4, 0, 2, 'over its cap'),
        ('d', False, 0, 0, 0, 0, 'unavailable'),
        ('e', False, 3, 0, 0, 3, 'unknown to the cloud'),
        ('x', False, 1, 0, 0, 1, 'not listed'),
    ]
    assert [(row.weight, row.cap) for row in plan.rows[-2:]] == [(200, 5), (0, NO_CAP)]
    # The counts are by name, whatever the order of the spec, without zeros.
    assert [*grow([B, Place('c', cap=0), A], {}, 2).counts.items()] == [('a', 1), ('b', 1)]


def test_rows_of_a_deletion_note_the_number_of_protected_nodes():
    """The row of a place says how many of its nodes are protected, listed or not."""
    plan = shrink([Place('a', cap=2), B], [{'a': 2, 'b': 1}], 1, {'a': 1, 'x': 2})

    assert noted(plan) == [
        ('a', True, 3, 1.5, 1, 2, 'at its cap, 1 protected'),
        ('b', True, 1, 1.5, 0, 1, ''),
        ('x', False, 2, 0, 0, 2, 'not listed, 2 protected'),
    ]


@pytest.mark.parametrize(
    ('place', 'note'),
    [
        (Place('a', cap=1, shortage=PROBING), 'short of capacity: one probe, at its cap'),
        (Place('a', available=False, note='unavailable', shortage=WAITING), 'unavailable'),
    ],
)
def test_row_notes_the_shortage_of_its_place(place, note):
    """The row of a place says until when it gets no node, or that it gets a probe."""
    assert grow([place, Place('b', weight=1)], {'a': 0}, 2).rows[0].note == note


def test_deletion_of_more_nodes_than_exist_names_those_that_can_leave():
    """The error has a row per place with nodes, protected ones included, and a warning."""
    with pytest.raises(NoFeasiblePlan) as raised:
        shrink([A], [{'a': 1, UNKNOWN: 2}, {'b': 0}], 5, {'a': 1})

    details = raised.value.details
    rows = {row['name']: (row['current'], row['possible']) for row in details['places']}
    assert str(raised.value) == 'There is no feasible plan to handle all nodes.'
    assert (details['asked'], details['possible'], details['missing']) == (5, 3, 2)
    assert rows == {'a': (2, 1), '(no known place)': (2, 2)}
    assert raised.value.warnings == [
        'The action asks to remove 5 nodes, but the placement policy finds 4'
    ]


def refused(text, hour):
    failed = Node('n', status_reason=text, updated_at=NOON.replace(hour=hour))
    return Shortage(1, NOON, 0, failed=failed)


WAITS = '(short of capacity until 2026-11-22T12:00:00Z)'
NEXT = 'the next probe is possible at 2026-11-22T12:00:00Z'
EARLIEST = f'b {WAITS}; {NEXT}'.replace('T12', 'T09')
PROBED = 'b (short of capacity: one probe)'
SHORT_A, PROBED_B = Place('a', shortage=WAITING), Place('b', shortage=PROBING)
SHORT_B = Place('b', shortage=Shortage(2, NOON.replace(hour=9), 0))
FAILED_A = Place('a', shortage=refused('first', 10))
FAILED_B = Place('b', shortage=refused('No "host"\n' + 'x' * 191, 11))
LATEST = f'the latest failure was "No "host"\\n{"x" * 190}..."'
SHORT_C, FULL_A = Place('c', shortage=WAITING), Place('a', cap=1, shortage=WAITING)


@pytest.mark.parametrize(
    ('places', 'count', 'reason'),
    [
        ([SHORT_A, SHORT_B], 3, f'No node can be created: a {WAITS}, {EARLIEST}'),
        ([SHORT_A, PROBED_B], 3, f'Only 1 of 3 nodes can be created: a {WAITS}, {PROBED}; {NEXT}'),
        ([Place('a', shortage=PROBING), LOST], 2,
         'Only 1 of 2 nodes can be created: a (short of capacity: one probe), b (unavailable)'),
        ([FAILED_A, FAILED_B, SHORT_C], 1,
         f'No node can be created: a {WAITS}, b {WAITS}, c {WAITS}; {LATEST}; {NEXT}'),
        ([FULL_A], 2, 'There is no feasible plan to handle all nodes.'),
    ],
    ids=['all wait', 'one is probed', 'none waits', 'a quote', 'a cap leaves no room either'],
)  # fmt: skip
def test_creation_beyond_the_room_names_the_shortages_and_the_next_probe(places, count, reason):
    """The error says how many nodes are possible now, why, and when to try again."""
    with pytest.raises(NoFeasiblePlan) as raised:
        grow(places, {}, count)

    assert str(raised.value) == reason


def moved(counts, place, other):
    """Return the counts with one node in another place, or in the same one."""
    left = {**counts, place: counts[place] - 1}
    return {**left, other: left.get(other, 0) + 1}


@given(creations(caps=(NO_CAP, NO_CAP, 9)), st.data())
def test_alternatives_are_in_the_order_of_the_best_counts_and_have_room(creation, data):
    """Retries in earlier alternatives leave better counts, and no retries exceed a limit."""
    places, held, count = creation
    places = [*places, Place('z')]
    plan = grow(places, held, count)
    final = {row.name: row.final for row in plan.rows}
    planned, others = dict(plan.counts), alternatives(plan, places, {})

    for place, names in others.items():
        distances = [distance(moved(final, place, other).values(), places) for other in names]
        assert distances == sorted(distances)
        assert place not in names
    for place, number in plan.counts.items():
        for _ in range(number if place in others else 0):
            planned = moved(planned, place, data.draw(st.sampled_from([place, *others[place]])))
    for place in places:
        new = planned.get(place.name, 0)
        assert new <= room(place, held.get(place.name, 0), count)


def test_alternatives_of_many_places_are_bounded():
    """A reply has at most ten alternatives of a place; ranks precede the order of the spec."""
    places = [Place(f'a{number:02}') for number in range(30)]

    found = alternatives(grow(places, {}, 1), places, {'a07': [3], 'a05': [4]})

    others = ['a07', 'a05', 'a01', 'a02', 'a03', 'a04', 'a06', 'a08', 'a09', 'a10']
    assert found == {'a00': others}
