"""The placements of several policies for the same nodes, and the reason of a failed action."""

import pytest

from placement_worker.engines.senlin import checks

ZONES = {'count': 2, 'placements': [{'zone': 'az1'}, {'zone': 'az2'}]}
GROUP = {'placements': [{'servergroup': 'g1'}, {'servergroup': 'g1'}]}


def test_merge_placement_of_two_policies_keeps_the_keys_of_both_per_node():
    """An affinity policy that replaces the list takes no zone away from a node."""
    merged = checks.merge_placement(ZONES, GROUP)

    assert merged['placements'] == [
        {'zone': 'az1', 'servergroup': 'g1'},
        {'zone': 'az2', 'servergroup': 'g1'},
    ]


def test_merge_placement_of_the_same_key_keeps_the_value_of_the_later_policy():
    """The policies run in order, and the last one decides."""
    later = {'placements': [{'zone': 'az3'}]}

    assert checks.merge_placement({'placements': [{'zone': 'az1'}]}, later) == later


def test_merge_placement_with_more_nodes_than_before_returns_all_of_them():
    """Nodes that only the later policy places keep its entries."""
    before = {'placements': [{'zone': 'az1'}]}

    merged = checks.merge_placement(before, GROUP)

    assert merged['placements'] == [{'zone': 'az1', 'servergroup': 'g1'}, {'servergroup': 'g1'}]


def test_merge_placement_leaves_its_arguments_unchanged():
    """The data of the action change only when they are written."""
    before, after = {'placements': [{'zone': 'az1'}]}, {'placements': [{'servergroup': 'g1'}]}

    checks.merge_placement(before, after)

    assert (before, after) == (
        {'placements': [{'zone': 'az1'}]},
        {'placements': [{'servergroup': 'g1'}]},
    )


@pytest.mark.parametrize(('before', 'after'), [(None, GROUP), (ZONES, None), (None, None)])
def test_merge_placement_of_a_single_policy_returns_its_result(before, after):
    """A policy that runs first, or that removes the placement, has the last word."""
    assert checks.merge_placement(before, after) == after


@pytest.mark.parametrize(
    ('names', 'reason'),
    [
        (['zones'], "Failed policy 'zones': no zone is available"),
        ([], 'no zone is available'),
        (['zones', 'deletion'], "Failed policy 'zones', 'deletion': no zone is available"),
    ],
)
def test_failure_names_each_failed_policy(names, reason):
    """The reason of an action has the form of Senlin's own policy check."""
    assert checks.failure(names, 'no zone is available') == reason
