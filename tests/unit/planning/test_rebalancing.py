"""Rebalancing: the fewest moves to the best counts, each of them an improvement, in steps."""

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.rebalancing import (
    NO_WEIGHT,
    Holding,
    Region,
    imbalance,
    nodes_by_place,
    steps,
    transfers,
)

WEIGHTS = st.one_of(st.sampled_from([1, 50, 100, 200, 300]), st.integers(1, 10**9))
ANY = 99  # a maximum that no place reaches


def holding(name, weight, held, fixed, most):
    return Holding(name, weight, held, most, leaving=[None] * (held - fixed))


def region(name, weight, zones, most=ANY):
    held, fixed = sum(one.held for one in zones), sum(one.fixed for one in zones)
    return Region(holding(name, weight, held, fixed, most), zones)


def moves(holdings):
    """Return the moves between the zones of one region: source, destination and gain."""
    found = transfers([region(None, 1, holdings)])
    return [(source, destination, gain) for (_, source), (_, destination), gain in found]


def measured(holdings, counts):
    return imbalance([region(None, 1, holdings)], {(None, name): n for name, n in counts.items()})


@st.composite
def with_unlisted(draw, most_places=4, most_nodes=5):
    """Draw listed places, some fixed, full or over their maximum; sometimes an unlisted one."""
    holdings = []
    for i in range(draw(st.integers(1, most_places))):
        held = draw(st.integers(0, most_nodes))
        fixed = draw(st.integers(0, held))
        most = draw(st.integers(fixed, held + most_nodes))
        holdings.append(holding(f'az{i}', draw(WEIGHTS), held, fixed, most))
    held = draw(st.integers(0, 4))
    old = holding('old', NO_WEIGHT, held, draw(st.integers(0, held)), held)
    return [*holdings, old] if held else holdings


def states(holdings):
    """Yield the counts before the first move and after each one."""
    counts = {one.name: one.held for one in holdings}
    yield dict(counts)
    for source, destination, _ in moves(holdings):
        counts[source] -= 1
        counts[destination] += 1
        yield dict(counts)


def priorities(holdings, counts):
    """Return the unlisted nodes, the misplaced ones, and the deviation, in this priority."""
    found = measured(holdings, counts)
    return counts.get('old', 0), found.misplaced, found.zones


def best_of_all(holdings):
    """Return the least imbalance within the bounds, and the fewest moves that lead to it."""
    total = sum(one.held for one in holdings)
    ranges = [range(one.fixed, max(one.most, one.held) + 1) for one in holdings]
    return min(
        (
            *priorities(holdings, counts),
            sum(max(0, one.held - counts[one.name]) for one in holdings),
        )
        for numbers in itertools.product(*ranges)
        if sum(numbers) == total
        for counts in [dict(zip([one.name for one in holdings], numbers, strict=True))]
    )


@given(with_unlisted())
def test_moves_reach_the_optimum_with_the_fewest_moves(holdings):
    """No other moves within the bounds lead to a smaller imbalance, and no fewer to the same."""
    *_, after = states(holdings)

    found = *priorities(holdings, after), len(moves(holdings))
    assert found == best_of_all(holdings)


@given(with_unlisted())
def test_moves_improve_with_each_one_and_by_less_each_time(holdings):
    """A plan that is cut short anywhere is an improvement within the bounds, the largest first."""
    after_moves = list(states(holdings))
    distances = [priorities(holdings, counts)[1:] for counts in after_moves]
    gains = [gain for _, _, gain in moves(holdings)]
    known = [gain for gain in gains if gain is not None]

    assert all(after < before for before, after in itertools.pairwise(distances))
    assert gains == [None] * (len(gains) - len(known)) + sorted(known, reverse=True)
    assert known == [
        before[1] - after[1]
        for (before, after), gain in zip(itertools.pairwise(distances), gains, strict=True)
        if gain is not None
    ]
    for counts in after_moves:
        assert all(one.fixed <= counts[one.name] <= max(one.most, one.held) for one in holdings)


@st.composite
def clouds(draw, most_nodes=4):
    """Draw two or three regions with one to three zones; one may be unlisted, some have a cap."""
    weights = st.sampled_from([1, 50, 100, 200, 300])
    regions = []
    for i in range(draw(st.integers(1, 3))):
        inside = []
        for j in range(draw(st.integers(1, 3))):
            count = draw(st.integers(0, most_nodes))
            inside.append(holding(f'az{j}', draw(weights), count, draw(st.integers(0, count)), ANY))
        cap = draw(st.sampled_from([ANY, ANY, 0, 3, 6]))
        regions.append(region(f'r{i}', draw(weights), inside, cap))
    if draw(st.booleans()):
        old = holding(None, 1, 2, draw(st.integers(0, 2)), 2)
        regions.append(region('old', NO_WEIGHT, [old], 2))
    return regions


def in_regions(counts):
    found = Counter()
    for (name, _), count in counts.items():
        found[name] += count
    return found


@given(clouds())
def test_transfers_lower_the_imbalance_within_the_bounds_and_are_the_fewest(regions):
    """Each transfer is an improvement; fixed nodes stay, and no region exceeds its cap at any time.

    No place both loses and gains nodes, so fewer transfers cannot lead to the same counts.
    """
    most = {one.name: max(one.holding.most, one.holding.held) for one in regions}
    fixed = {(one.name, zone.name): zone.fixed for one in regions for zone in one.zones}
    counts, found = nodes_by_place(regions), list(transfers(regions))
    distances = [imbalance(regions, counts)]
    for one in found:
        counts[one.destination] += 1
        assert in_regions(counts)[one.destination[0]] <= most[one.destination[0]]
        counts[one.source] -= 1
        assert all(counts[place] >= number for place, number in fixed.items())
        distances.append(imbalance(regions, counts))

    assert all(after < before for before, after in itertools.pairwise(distances))
    assert not {one.source for one in found} & {one.destination for one in found}


@given(clouds())
def test_transfers_lead_the_zones_of_each_region_to_the_optimum(regions):
    """No other zones of the nodes of a region deviate less, unless the region is at its cap."""
    after = nodes_by_place(regions)
    for one in transfers(regions):
        after[one.source] -= 1
        after[one.destination] += 1
    totals = in_regions(after)

    for one in regions:
        if one.holding.weight and totals[one.name] < one.holding.most:
            names = [zone.name for zone in one.zones]
            best = min(
                measured(one.zones, dict(zip(names, counts, strict=True))).zones
                for counts in itertools.product(
                    *(range(zone.fixed, totals[one.name] + 1) for zone in one.zones)
                )
                if sum(counts) == totals[one.name]
            )
            found = measured(one.zones, {name: after[one.name, name] for name in names})
            assert found.zones == best


@given(clouds(), st.integers(1, 4))
def test_steps_hold_all_transfers_within_surge_and_caps_and_lower_the_imbalance(regions, surge):
    """With all nodes of a step created and none deleted, no region exceeds its cap."""
    most = {one.name: max(one.holding.most, one.holding.held) for one in regions}
    found = list(steps(regions, transfers(regions), surge))
    counts = nodes_by_place(regions)
    distances = [imbalance(regions, counts), *(step.after for step in found)]

    assert [one for step in found for one in step.transfers] == list(transfers(regions))
    assert distances == sorted(set(distances), reverse=True)
    for step in found:
        within = {source[0] == destination[0] for source, destination, _ in step.transfers}
        assert len(step.transfers) <= surge
        assert len(within) == 1
        counts.update(one.destination for one in step.transfers)
        assert all(number <= most[name] for name, number in in_regions(counts).items())
        counts.subtract(one.source for one in step.transfers)
