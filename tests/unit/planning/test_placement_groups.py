"""Removal by groups: plans equal the node-by-node rule, and are the best of all plans."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning.placement import grow, shrink
from placement_worker.planning.places import Place

WEIGHTS = st.sampled_from([1, 2, 3, 50, 100, 300])
NAMES = 'abcd'
UNKNOWN = None
CAPS = st.integers(-1, 5)


@st.composite
def clusters(draw, most=4, caps=CAPS, others=('x', 'y', UNKNOWN)):
    """Draw places in the order of a spec, three groups of nodes, how many nodes are to leave, and
    protected nodes.
    """
    listed = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    places = [
        Place(
            name,
            draw(WEIGHTS),
            draw(caps),
            known=(known := draw(st.integers(0, 4)) > 0),
            available=known,
        )
        for name in listed
    ]
    where = st.sampled_from([*listed, *others])
    groups = [draw(st.dictionaries(where, st.integers(0, most))) for _ in range(3)]
    staying = draw(st.just({}) | st.dictionaries(where, st.integers(1, most)))
    nodes = sum(sum(group.values()) for group in (*groups, staying))
    return places, groups, draw(st.integers(0, nodes)), staying


def total(groups):
    """Return place -> number of nodes of all groups."""
    names = {name for group in groups for name in group}
    return {name: sum(group.get(name, 0) for group in groups) for name in names}


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


def first_to_leave(places, left, movable, next_rank=lambda _: 0):
    """Return the place that the next node leaves, by the rule in the manual."""
    listed = {place.name: (order, place) for order, place in enumerate(places) if place.known}
    if movable.get(UNKNOWN):
        return UNKNOWN
    others = [name for name, count in movable.items() if count and name not in listed]
    if others:
        return min(others, key=lambda name: (-left[name], next_rank(name), name))
    names = [name for name, count in movable.items() if count]
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


def planned(plan):
    """Return place -> number of nodes that leave by a plan."""
    return {**plan.counts, **({UNKNOWN: plan.unplaced} if plan.unplaced else {})}


@settings(max_examples=400)
@given(ranked())
def test_shrink_by_groups_equals_the_rule_applied_node_by_node(problem):
    """A plan removes the nodes that the rule, applied node by node, removes."""
    places, groups, count, staying, ranks = problem

    plan = shrink(places, groups, count, staying, ranks)

    assert planned(plan) == node_by_node(places, groups, count, staying, ranks)


@settings(max_examples=400)
@given(ranked(), st.integers(0, 20))
def test_grow_equals_the_rule_applied_node_by_node(problem, count):
    """A plan creates the nodes that the rule creates one by one, ties by the next victim."""
    places, groups, _, staying, ranks = problem
    held = total([*groups, staying])
    order = {place.name: i for i, place in enumerate(places)}
    created = {}

    def worth(place):
        price = Fraction(2 * (held.get(place.name, 0) + created.get(place.name, 0)) + 1, 1)
        first = min(ranks.get(place.name, []), default=math.inf)
        return price / place.weight, -place.weight, first, order[place.name]

    def has_room(place):
        nodes = held.get(place.name, 0) + created.get(place.name, 0)
        return place.available and (place.cap < 0 or nodes < place.cap)

    for _ in range(count):
        room = [place for place in places if has_room(place)]
        if not room:
            with pytest.raises(NoFeasiblePlan):
                grow(places, held, count, ranks)
            return
        name = min(room, key=worth).name
        created[name] = created.get(name, 0) + 1

    assert grow(places, held, count, ranks).counts == created


def distance(counts, weights):
    """Return the chi-square distance of counts to the ideal shares of their sum."""
    size, weight = sum(counts), sum(weights)
    return sum(
        (x - Fraction(size * w, weight)) ** 2 / w for x, w in zip(counts, weights, strict=True)
    )


def last_group(groups, count, staying):
    """Return the group in which the count runs out.

    :returns: the group, how many of its nodes leave, and place -> number of nodes that the groups
        before it leave.
    """
    left = total([*groups, staying])
    for group in groups:
        if count < sum(group.values()):
            break
        count -= sum(group.values())
        left = {name: number - group.get(name, 0) for name, number in left.items()}
    return group, count, left


def cost(places, left):
    """Return the quantities that the rule minimizes, the most important first.

    Nodes of unknown place come first, then nodes in unlisted places and the sum of their squares,
    which is small if the fullest place gives first. Then come the nodes above caps, and the
    distance of the listed places to their shares.
    """
    known = [place for place in places if place.known]
    names = {place.name for place in known}
    others = [count for name, count in left.items() if name is not UNKNOWN and name not in names]
    counts = [left.get(place.name, 0) for place in known]
    above = sum(
        max(count - place.cap, 0)
        for count, place in zip(counts, known, strict=True)
        if place.cap >= 0
    )
    squares = sum(count**2 for count in others)
    return (
        left.get(UNKNOWN, 0),
        sum(others),
        squares,
        above,
        distance(counts, [place.weight for place in known]),
    )


# Few clusters have a place above its cap in the group that is partly used.
@settings(max_examples=500)
@given(clusters(most=2))
def test_shrink_by_groups_is_the_best_of_all_plans_by_groups(problem):
    """No plan that empties earlier groups first, and keeps all protected nodes, leaves less of what
    the rule removes first.
    """
    places, groups, count, staying = problem
    gone = planned(shrink(places, groups, count, staying))
    held = total([*groups, staying])
    found = {name: number - gone.get(name, 0) for name, number in held.items()}

    count = min(count, sum(total(groups).values()))
    group, count, left = last_group(groups, count, staying)
    vectors = itertools.product(*(range(group.get(name, 0) + 1) for name in left))
    plans = [
        {name: number - taken for (name, number), taken in zip(left.items(), vector, strict=True)}
        for vector in vectors
        if sum(vector) == count
    ]
    assert found in plans
    assert cost(places, found) == min(cost(places, plan) for plan in plans)


@given(clusters(most=12))
def test_shrink_by_one_node_more_keeps_every_earlier_victim(problem):
    """A plan for one node more removes no node less from any place."""
    places, groups, count, staying = problem
    more = min(count + 1, sum(total([*groups, staying]).values()))

    before, after = (planned(shrink(places, groups, number, staying)) for number in (count, more))

    assert all(number <= after.get(name, 0) for name, number in before.items())


def test_shrink_of_a_failed_zone_removes_its_unhealthy_nodes():
    """A failed zone loses its unhealthy nodes although a healthy zone holds more nodes."""
    places = [Place('a'), Place('b')]

    plan = shrink(places, [{'b': 2}, {}, {'a': 4, 'b': 1}], 2)

    assert plan.counts == {'b': 2}


@given(clusters(most=12))
def test_shrink_with_protected_nodes_keeps_them_and_removes_as_many_others_as_asked(problem):
    """Each place keeps its protected nodes; too few other nodes all leave."""
    places, groups, count, staying = problem

    plan = shrink(places, groups, count, staying)

    rows = {row.name: row for row in plan.rows}
    assert all(rows[name].final >= number for name, number in staying.items() if name)
    assert sum(planned(plan).values()) == min(count, sum(total(groups).values()))


def test_shrink_with_protected_nodes_notes_their_number():
    """The row of a place says how many of its nodes are protected, listed or not."""
    places = [Place('a', cap=2), Place('b')]

    rows = shrink(places, [{'a': 2, 'b': 1}], 1, {'a': 1, 'x': 2}).rows

    assert [(row.name, row.current, row.planned, row.note) for row in rows] == [
        ('a', 3, 1, 'at its cap, 1 protected'),
        ('b', 1, 0, ''),
        ('x', 2, 0, 'not listed, 2 protected'),
    ]


def test_shrink_by_more_nodes_than_exist_counts_the_nodes_that_can_leave():
    """The error says how many nodes can be removed; protected ones cannot."""
    with pytest.raises(NoFeasiblePlan) as infeasible:
        shrink([Place('a')], [{'a': 2}], 4, {'a': 1})

    assert infeasible.value.details['possible'] == 2
    assert infeasible.value.details['places'][0]['current'] == 3


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
