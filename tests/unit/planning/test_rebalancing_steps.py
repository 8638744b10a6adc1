"""The steps of a rebalance: bounded surges, within caps, and which of them a scale-out makes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from placement_worker.planning.rebalancing import Holding
from placement_worker.planning.rebalancing_steps import steps
from placement_worker.planning.region_rebalancing import held, imbalance, transfers
from tests.unit.planning.test_region_rebalancing import ANY, clouds, in_regions, region


@given(clouds(), st.integers(1, 4))
def test_steps_hold_all_transfers_in_order_and_lower_the_imbalance(regions, max_surge):
    """Each step ends with a smaller imbalance than the one before it."""
    found = list(steps(regions, transfers(regions), max_surge))
    distances = [imbalance(regions, held(regions)), *(step.after for step in found)]

    assert [one for step in found for one in step.transfers] == list(transfers(regions))
    assert all(len(step.transfers) <= max_surge for step in found)
    assert distances == sorted(set(distances), reverse=True)


@given(clouds(), st.integers(1, 4))
def test_steps_exceed_no_cap_before_they_delete(regions, max_surge):
    """With all nodes of a step created and none deleted, no region exceeds its cap."""
    most = {one.name: max(one.holding.most, one.holding.held) for one in regions}
    counts = held(regions)
    for step in steps(regions, transfers(regions), max_surge):
        counts.update(one.destination for one in step.transfers)
        assert all(number <= most[name] for name, number in in_regions(counts).items())
        counts.subtract(one.source for one in step.transfers)


@given(clouds(), st.integers(1, 4))
def test_steps_between_regions_are_scale_outs(regions, max_surge):
    """Placement creates the nodes of a transfer between regions where the step says."""
    between = [
        step
        for step in steps(regions, transfers(regions), max_surge)
        if step.transfers[0].source[0] != step.transfers[0].destination[0]
    ]

    assert all(step.scale_out for step in between)


def test_steps_within_one_of_two_regions_are_no_scale_outs():
    """A scale-out would create the node in the first region, whose zones are even."""
    even = [Holding('az1', 100, 2, 0, ANY), Holding('az2', 100, 2, 0, ANY)]
    uneven = [Holding('az1', 100, 4, 0, ANY), Holding('az2', 100, 0, 0, ANY)]
    regions = [region('A', 100, even), region('B', 100, uneven)]

    found = list(steps(regions, transfers(regions), 1))

    assert [step.scale_out for step in found] == [False, False]
    assert Counter(one.destination for step in found for one in step.transfers) == {('B', 'az2'): 2}


def test_steps_of_a_region_with_little_room_are_small():
    """A region with one node below its cap gets one node per step, whatever the surge is."""
    uneven = [Holding('az1', 100, 4, 0, ANY), Holding('az2', 100, 0, 0, ANY)]
    regions = [region('A', 100, uneven, most=5)]

    found = list(steps(regions, transfers(regions), 2))

    assert [len(step.transfers) for step in found] == [1, 1]
