"""Rebalancing over regions and their zones: regions first, each transfer an improvement."""

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.rebalancing import NO_WEIGHT, Holding, deviation
from placement_worker.planning.region_rebalancing import (
    Region,
    held,
    imbalance,
    transfers,
)

WEIGHTS = st.sampled_from([1, 50, 100, 200, 300])
ANY = 99
"""A maximum that no place reaches."""


def region(name, weight, zones, most=ANY):
    """Return a region whose holding sums up its zones."""
    return Region(
        Holding(
            name, weight, sum(one.held for one in zones), sum(one.fixed for one in zones), most
        ),
        zones,
    )


@st.composite
def clouds(draw, most_nodes=4):
    """Draw two or three regions with one to three zones; one may be unlisted, some have a cap."""
    found = []
    for i in range(draw(st.integers(1, 3))):
        zones = []
        for j in range(draw(st.integers(1, 3))):
            count = draw(st.integers(0, most_nodes))
            fixed = draw(st.integers(0, count))
            zones.append(Holding(f'az{j}', draw(WEIGHTS), count, fixed, ANY))
        cap = draw(st.sampled_from([ANY, ANY, 0, 3, 6]))
        found.append(region(f'r{i}', draw(WEIGHTS), zones, cap))
    if draw(st.booleans()):
        found.append(region('old', NO_WEIGHT, [Holding(None, 1, 2, draw(st.integers(0, 2)), 2)], 2))
    return found


def states(regions):
    """Yield the counts before the first transfer and after each one."""
    counts = held(regions)
    yield Counter(counts)
    for one in transfers(regions):
        counts[one.source] -= 1
        counts[one.destination] += 1
        yield Counter(counts)


def in_regions(counts):
    """Return the number of nodes in each region."""
    found = Counter()
    for (name, _), count in counts.items():
        found[name] += count
    return found


@given(clouds())
def test_each_transfer_lowers_the_imbalance(regions):
    """A plan that is cut short anywhere is an improvement."""
    distances = [imbalance(regions, counts) for counts in states(regions)]

    assert all(after < before for before, after in itertools.pairwise(distances))


@given(clouds())
def test_the_zones_of_each_region_end_at_the_optimum(regions):
    """No other zones of the nodes of a region deviate less, unless the region is at its cap."""
    *_, after = states(regions)
    totals = in_regions(after)

    for one in regions:
        if one.holding.weight and totals[one.name] < one.holding.most:
            best = min(
                deviation(one.zones, dict(zip([z.name for z in one.zones], counts, strict=True)))
                for counts in itertools.product(
                    *(range(zone.fixed, totals[one.name] + 1) for zone in one.zones)
                )
                if sum(counts) == totals[one.name]
            )
            assert (
                deviation(one.zones, {z.name: after[one.name, z.name] for z in one.zones}) == best
            )


@given(clouds())
def test_transfers_are_the_fewest_for_their_result(regions):
    """No place both loses and gains nodes, so fewer transfers cannot lead to the same counts."""
    found = list(transfers(regions))

    assert not {one.source for one in found} & {one.destination for one in found}


@given(clouds())
def test_transfers_leave_fixed_nodes_and_full_regions_alone(regions):
    """Fixed nodes stay, and no region gets a node beyond its cap, not even until a deletion."""
    most = {one.name: max(one.holding.most, one.holding.held) for one in regions}
    fixed = {(one.name, zone.name): zone.fixed for one in regions for zone in one.zones}
    counts = held(regions)
    for one in transfers(regions):
        counts[one.destination] += 1
        assert in_regions(counts)[one.destination[0]] <= most[one.destination[0]]
        counts[one.source] -= 1
        assert all(counts[place] >= number for place, number in fixed.items())


def test_transfers_between_regions_come_before_those_within():
    """The first transfer takes from the fullest zone and gives to the emptiest zone."""
    regions = [
        region('A', 100, [Holding('az1', 100, 5, 0, ANY), Holding('az2', 100, 1, 0, ANY)]),
        region('B', 100, [Holding('az1', 100, 3, 0, ANY), Holding('az2', 100, 0, 0, ANY)]),
    ]

    assert [one[:2] for one in transfers(regions)] == [
        (('A', 'az1'), ('B', 'az2')),
        (('A', 'az1'), ('A', 'az2')),
        (('B', 'az1'), ('B', 'az2')),
    ]


def test_transfers_below_the_minimum_gain_are_omitted():
    """A move from 5 to 4 of 8 nodes gains 1/2: chi-square falls from 1/2 to 0."""
    regions = [region(None, 1, [Holding('az1', 100, 5, 0, ANY), Holding('az2', 100, 3, 0, ANY)])]

    assert [one.gain for one in transfers(regions, min_gain=1 / 2)] == [1 / 2]
    assert list(transfers(regions, min_gain=0.51)) == []


def test_transfers_within_a_full_region_are_omitted():
    """A region at its cap cannot create a node before it deletes another one."""
    zones = [Holding('az1', 100, 4, 0, ANY), Holding('az2', 100, 0, 0, ANY)]

    assert list(transfers([region('A', 100, zones, most=4)])) == []
    assert len(list(transfers([region('A', 100, zones, most=5)]))) == 2
