"""Rebalancing: the fewest moves to the best counts, each of them an improvement."""

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.rebalancing import NO_WEIGHT, Holding, Move, plan

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


def deviation(counts, holdings, total):
    """Return the chi-square deviation of the counts from the ideal shares of the total."""
    weight = sum(one.weight for one in holdings)
    return sum(
        (count - Fraction(total * one.weight, weight)) ** 2 / one.weight
        for count, one in zip(counts, holdings, strict=True)
    )


def states(holdings, moves):
    """Yield the counts before the first move and after each one."""
    counts = {one.name: one.held for one in holdings}
    yield list(counts.values())
    for move in moves:
        counts[move.source] -= 1
        counts[move.destination] += 1
        yield list(counts.values())


def best_of_all(holdings, total):
    """Return the least deviation within the bounds, and the fewest moves that lead to it."""
    ranges = [range(one.fixed, one.most + 1) for one in holdings]
    return min(
        (
            deviation(counts, holdings, total),
            sum(max(0, one.held - count) for count, one in zip(counts, holdings, strict=True)),
        )
        for counts in itertools.product(*ranges)
        if sum(counts) == total
    )


@given(listed())
def test_rebalancing_reaches_the_optimum_with_the_fewest_moves(holdings):
    """No other moves lead to a smaller deviation, and no fewer ones to the same."""
    total = sum(one.held for one in holdings)
    if sum(one.most for one in holdings) < total:
        holdings = [Holding(o.name, o.weight, o.held, o.fixed, o.held) for o in holdings]

    moves = plan(holdings)

    *_, after = states(holdings, moves)
    assert (deviation(after, holdings, total), len(moves)) == best_of_all(holdings, total)


@given(listed(most_places=8, most_nodes=12))
def test_rebalancing_lowers_the_deviation_with_each_move_and_by_less_each_time(holdings):
    """A plan that is cut short anywhere is an improvement, and has the largest gains."""
    holdings = [Holding(o.name, o.weight, o.held, o.fixed, max(o.held, o.most)) for o in holdings]
    total = sum(one.held for one in holdings)

    deviations = [deviation(counts, holdings, total) for counts in states(holdings, plan(holdings))]

    gains = [before - after for before, after in itertools.pairwise(deviations)]
    assert all(gain > 0 for gain in gains)
    assert gains == sorted(gains, reverse=True)


def test_rebalancing_of_unlisted_places_moves_their_nodes_first():
    """Nodes that no policy lists leave before a surplus elsewhere, unless they are fixed."""
    holdings = [
        Holding('az1', 100, 4, 0, 20),
        Holding('az2', 100, 0, 0, 20),
        Holding('old', NO_WEIGHT, 3, 1, 1),
    ]

    assert plan(holdings) == [Move('old', 'az2'), Move('old', 'az2'), Move('az1', 'az2')]


def test_rebalancing_of_a_full_cluster_leaves_the_rest_in_unlisted_places():
    """Without room in listed places, nodes of unlisted places stay where they are."""
    holdings = [Holding('az1', 100, 1, 0, 2), Holding('old', NO_WEIGHT, 3, 0, 3)]

    assert plan(holdings) == [Move('old', 'az1')]


def test_rebalancing_of_a_tie_keeps_the_nodes_in_place():
    """Of two best plans the one without a move is chosen, although the spec prefers the other."""
    holdings = [Holding('az1', 100, 1, 0, 9), Holding('az2', 100, 2, 0, 9)]

    assert plan(holdings) == []
