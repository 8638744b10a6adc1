"""Nodes leave in groups: the plan agrees with the rule applied node by node, and with all plans."""

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.placement import Place, shrink

WEIGHTS = st.sampled_from([1, 2, 3, 50, 100, 300])
NAMES = 'abcd'
NOWHERE = None
CAPS = st.integers(-1, 5)


@st.composite
def clusters(draw, most=4, caps=CAPS, others=('x', 'y', NOWHERE)):
    """Places in the order of a spec, three groups of nodes, and how many of them leave."""
    listed = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    places = [
        Place(name, draw(WEIGHTS), draw(caps), known=(known := draw(st.integers(0, 4)) > 0), available=known)
        for name in listed
    ]
    where = st.sampled_from([*listed, *others])
    groups = [draw(st.dictionaries(where, st.integers(0, most))) for _ in range(3)]
    return places, groups, draw(st.integers(0, sum(sum(group.values()) for group in groups)))


def total(groups):
    """Place -> number of nodes of all groups."""
    names = {name for group in groups for name in group}
    return {name: sum(group.get(name, 0) for group in groups) for name in names}


def first_to_leave(places, left, movable):
    """The place that the next node leaves, as the manual states the rule."""
    listed = {place.name: (order, place) for order, place in enumerate(places) if place.known}
    if movable.get(NOWHERE):
        return NOWHERE
    others = [name for name, count in movable.items() if count and name not in listed]
    if others:
        return min(others, key=lambda name: (-left[name], name))
    names = [name for name, count in movable.items() if count]
    over = [name for name in names if 0 <= listed[name][1].cap < left[name]]

    def worth(name):
        order, place = listed[name]
        return Fraction(place.weight, 2 * left[name] - 1), place.weight, -order

    return min(over or names, key=worth)


def node_by_node(places, groups, count):
    """Place -> number of nodes that leave, found by taking one node after the other."""
    left, gone = total(groups), {}
    for group in groups:
        movable = dict(group)
        while count and any(movable.values()):
            name = first_to_leave(places, left, movable)
            movable[name] -= 1
            left[name] -= 1
            gone[name] = gone.get(name, 0) + 1
            count -= 1
    return gone


def planned(plan):
    """Place -> number of nodes that leave by a plan."""
    return {**plan.counts, **({NOWHERE: plan.unplaced} if plan.unplaced else {})}


@given(clusters(most=12))
def test_shrink_by_groups_equals_the_rule_applied_node_by_node(problem):
    """A plan takes the nodes that the rule takes one by one, with caps, unlisted and unknown places."""
    places, groups, count = problem

    assert planned(shrink(places, groups, count)) == node_by_node(places, groups, count)


def distance(counts, weights):
    """The chi-square distance of counts to the ideal shares of their sum."""
    size, weight = sum(counts), sum(weights)
    return sum((x - Fraction(size * w, weight)) ** 2 / w for x, w in zip(counts, weights, strict=True))


@given(clusters(most=3, caps=st.just(-1), others=()))
def test_shrink_by_groups_is_closest_to_the_ideal_of_all_plans_by_groups(problem):
    """No other plan that empties earlier groups first leaves the known places closer to their shares."""
    places, groups, count = problem
    places = [Place(place.name, place.weight) for place in places]
    names, weights = [place.name for place in places], [place.weight for place in places]

    final = {row.name: row.final for row in shrink(places, groups, count).rows}

    left = total(groups)
    for group in groups:  # the one group that is not used up
        if count < sum(group.values()):
            break
        count -= sum(group.values())
        left = {name: number - group.get(name, 0) for name, number in left.items()}
    choices = itertools.product(*(range(group.get(name, 0) + 1) for name in names))
    others = [
        [left.get(name, 0) - gone for name, gone in zip(names, chosen, strict=True)]
        for chosen in choices
        if sum(chosen) == count
    ]
    found = [final[name] for name in names]
    assert found in others
    assert distance(found, weights) == min(distance(other, weights) for other in others)


@given(clusters(most=12))
def test_shrink_by_one_node_more_keeps_every_earlier_victim(problem):
    """A plan for one node more takes no node less from any place."""
    places, groups, count = problem
    more = min(count + 1, sum(total(groups).values()))

    before, after = (planned(shrink(places, groups, number)) for number in (count, more))

    assert all(number <= after.get(name, 0) for name, number in before.items())


def test_shrink_of_a_lost_zone_takes_its_dead_nodes_and_no_healthy_ones():
    """A scale-in by two removes the two dead nodes of a zone, though the other zone holds more."""
    places = [Place('a'), Place('b')]

    plan = shrink(places, [{'b': 2}, {}, {'a': 4, 'b': 1}], 2)

    assert plan.counts == {'b': 2}


def test_shrink_by_half_a_million_nodes_of_three_groups_over_a_hundred_places_is_exact():
    """Of a million nodes, none that stays costs more than one that leaves from the last group."""
    weights = {f'z{i}': 1 + i % 7 for i in range(100)}
    places = [Place(name, weight) for name, weight in weights.items()]
    groups = [dict.fromkeys(weights, count) for count in (1_000, 2_000, 7_000)]

    rows = shrink(places, groups, 500_000).rows

    kept = [Fraction(2 * row.final - 1, weights[row.name]) for row in rows]
    gone = [Fraction(2 * row.final + 1, weights[row.name]) for row in rows if row.planned > 3_000]
    assert sum(row.planned for row in rows) == 500_000
    assert all(row.planned >= 3_000 for row in rows)
    assert max(kept) <= min(gone)
