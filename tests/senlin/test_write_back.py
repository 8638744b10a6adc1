"""The placements of several policies for the same nodes, and the reason of a failed action."""

import copy

import pytest

from placement_worker.engines.senlin import checks

ZONES = {'count': 2, 'placements': [{'zone': 'az1'}, {'zone': 'az2'}]}
GROUP = {'placements': [{'servergroup': 'g1'}, {'servergroup': 'g1'}]}
BOTH = [{'zone': 'az1', 'servergroup': 'g1'}, {'zone': 'az2', 'servergroup': 'g1'}]
ONE = {'placements': [{'zone': 'az1'}]}
LATER = {'placements': [{'zone': 'az3'}]}


@pytest.mark.parametrize(
    ('before', 'after', 'merged'),
    [
        (ZONES, GROUP, {'placements': BOTH}),
        (ONE, LATER, LATER),
        (ONE, GROUP, {'placements': [BOTH[0], {'servergroup': 'g1'}]}),
        (None, GROUP, GROUP),
        (ZONES, None, None),
        (None, None, None),
    ],
    ids=['both', 'same key', 'more nodes', 'first policy', 'removed', 'none'],
)
def test_merge_placement_has_the_keys_of_both_policies_and_the_last_values(before, after, merged):
    """An affinity policy that replaces the list takes no zone away; no argument changes."""
    given = copy.deepcopy((before, after))

    assert checks.merge_placement(before, after) == merged
    assert (before, after) == given


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
