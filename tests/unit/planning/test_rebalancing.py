"""Rebalancing: the fewest moves to the best counts, each of them an improvement."""

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.apportionment import apportion
from placement_worker.planning.rebalancing import (
    NO_WEIGHT,
    Holding,
    destinations,
    deviation,
    misplaced,
    moves,
)

WEIGHTS = st.one_of(st.sampled_from([1, 50, 100, 200, 300]), st.integers(1, 10**9))


@st.composite
def listed(draw, most_places=4, most_nodes=5):
    """Draw listed places; some have fixed nodes, some are full or over their maximum."""
    holdings = []
    for i in range(draw(st.integers(1, most_places))):
        held = draw(st.integers(0, most_nodes))
        fixed = draw(st.integers(0, held))
        most = draw(st.integers(fixed, held + most_nodes))
        holdings.append(Holding(f'az{i}', draw(WEIGHTS), held, fixed, most))
    return holdings


@st.composite
def with_unlisted(draw):
    """Draw listed places, and sometimes an unlisted one."""
    holdings = draw(listed())
    held = draw(st.integers(0, 4))
    old = Holding('old', NO_WEIGHT, held, draw(st.integers(0, held)), held)
    return [*holdings, old] if held else holdings


def states(holdings):
    """Yield the counts before the first move and after each one."""
    counts = {one.name: one.held for one in holdings}
    yield dict(counts)
    for move in moves(holdings):
        counts[move.source] -= 1
        counts[move.destination] += 1
        yield dict(counts)


def imbalance(holdings, counts):
    """Return the unlisted nodes, the misplaced ones, and the deviation, in this priority."""
    return counts.get('old', 0), misplaced(holdings, counts), deviation(holdings, counts)


def best_of_all(holdings):
    """Return the least imbalance within the bounds, and the fewest moves that lead to it."""
    total = sum(one.held for one in holdings)
    ranges = [range(one.fixed, max(one.most, one.held) + 1) for one in holdings]
    return min(
        (
            *imbalance(holdings, counts),
            sum(max(0, one.held - counts[one.name]) for one in holdings),
        )
        for numbers in itertools.product(*ranges)
        if sum(numbers) == total
        for counts in [dict(zip([one.name for one in holdings], numbers, strict=True))]
        if all(counts[one.name] <= max(one.most, one.held) for one in holdings)
    )


@given(with_unlisted())
def test_rebalancing_reaches_the_optimum_with_the_fewest_moves(holdings):
    """No other moves lead to a smaller imbalance, and no fewer ones to the same."""
    *_, after = states(holdings)

    found = *imbalance(holdings, after), len(list(moves(holdings)))
    assert found == best_of_all(holdings)


@given(with_unlisted())
def test_rebalancing_improves_with_each_move_and_by_less_each_time(holdings):
    """A plan that is cut short anywhere is an improvement, and its gains are the largest."""
    distances = [
        (misplaced(holdings, counts), deviation(holdings, counts)) for counts in states(holdings)
    ]
    gains = [move.gain for move in moves(holdings)]
    known = [gain for gain in gains if gain is not None]

    assert all(after < before for before, after in itertools.pairwise(distances))
    assert gains == [None] * (len(gains) - len(known)) + sorted(known, reverse=True)
    assert known == [
        before[1] - after[1]
        for (before, after), gain in zip(itertools.pairwise(distances), gains, strict=True)
        if gain is not None
    ]


@given(with_unlisted())
def test_rebalancing_leaves_fixed_nodes_and_full_places_alone(holdings):
    """Fixed nodes stay, and no place gets a node beyond its maximum."""
    for counts in states(holdings):
        assert all(counts[one.name] >= one.fixed for one in holdings)
        assert all(counts[one.name] <= max(one.most, one.held) for one in holdings)


@given(listed(), st.integers(1, 8))
def test_destinations_are_those_of_a_scale_out(holdings, count):
    """The first places that get nodes are those that placement chooses for as many new nodes."""
    ceilings = [max(one.held, min(one.most, one.held + count)) for one in holdings]
    held = [one.held for one in holdings]
    count = min(count, sum(ceilings) - sum(held))
    grown = apportion(sum(held) + count, [one.weight for one in holdings], held, ceilings)

    first = [unit.place for unit in itertools.islice(destinations(holdings), count)]

    assert [first.count(one.name) for one in holdings] == [
        now - before for now, before in zip(grown, held, strict=True)
    ]


def test_rebalancing_of_unlisted_places_moves_their_nodes_first():
    """Nodes that no policy lists leave before a surplus elsewhere, unless they are fixed."""
    holdings = [
        Holding('az1', 100, 4, 0, 20),
        Holding('az2', 100, 0, 0, 20),
        Holding('old', NO_WEIGHT, 3, 1, 1),
    ]

    assert [move[:2] for move in moves(holdings)] == [
        ('old', 'az2'),
        ('old', 'az2'),
        ('az1', 'az2'),
    ]


def test_rebalancing_of_a_full_cluster_leaves_the_rest_in_unlisted_places():
    """Without room in listed places, nodes of unlisted places stay where they are."""
    holdings = [Holding('az1', 100, 1, 0, 2), Holding('old', NO_WEIGHT, 3, 0, 3)]

    assert [move[:2] for move in moves(holdings)] == [('old', 'az1')]


def test_rebalancing_above_a_maximum_comes_before_any_gain():
    """Nodes above a maximum leave first, although a move from another place would gain more."""
    holdings = [
        Holding('capped', 1000, 3, 0, 2),
        Holding('crowded', 1, 9, 0, 20),
        Holding('empty', 1, 0, 0, 20),
    ]

    first, second, *_ = moves(holdings)

    assert (first.source, first.gain) == ('capped', None)
    assert second.source == 'crowded'


def test_rebalancing_of_a_tie_keeps_the_nodes_in_place():
    """Of two best plans the one without a move is chosen, although the spec prefers the other."""
    holdings = [Holding('az1', 100, 1, 0, 9), Holding('az2', 100, 2, 0, 9)]

    assert list(moves(holdings)) == []


def test_deviation_is_the_chi_square_statistic():
    """Four nodes in one of two equal zones deviate by 2**2/2 in each zone."""
    holdings = [Holding('az1', 100, 4, 0, 9), Holding('az2', 100, 0, 0, 9)]

    assert deviation(holdings, {'az1': 4, 'az2': 0}) == Fraction(4)
    assert deviation(holdings, {'az1': 0, 'az2': 0}) == 0
