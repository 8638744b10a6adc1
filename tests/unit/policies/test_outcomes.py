"""The results of policies."""

import pytest

from placement_worker.policies.base import BindingOutcome, Outcome, skipped


@pytest.mark.parametrize(
    ('kind', 'values', 'problem'),
    [
        (Outcome, {'nodes': {'n1': {}}}, r"nodes\['n1'\] must be a NodePatch, got dict"),
        (Outcome, {'outcome': 'PASSED'}, "outcome must be 'APPLIED' or 'SKIPPED', got 'PASSED'"),
        (Outcome, {'reason': 5}, 'reason must be a string, got int'),
        (Outcome, {'data': 'x'}, 'data must be a map, got str'),
        (Outcome, {'cluster': {}}, 'cluster must be a ClusterPatch, got dict'),
        (Outcome, {'warnings': 'careful'}, 'warnings must be a sequence of strings'),
        (Outcome, {'warnings': [1]}, 'warnings must be a sequence of strings'),
        (Outcome, {'nodes': ['n1']}, 'nodes must be a map, got list'),
        (Outcome, {'outcome': ['APPLIED']}, r"outcome must be .*, got \['APPLIED'\]"),
        (Outcome, {'details': None}, 'details must be a map, got NoneType'),
        (BindingOutcome, {'cluster': {}}, 'cluster must be a ClusterPatch, got dict'),
        (BindingOutcome, {'data': None}, 'data must be a map, got NoneType'),
    ],
)
def test_result_of_a_wrong_type_is_refused(kind, values, problem):
    """The result of a plugin with a value of a wrong type raises an error that names the value."""
    required = {'data': {}} if kind is BindingOutcome else {'outcome': 'APPLIED', 'reason': 'r'}

    with pytest.raises(TypeError, match=problem):
        kind(**(required | values))


def test_skipped_policy_changes_nothing():
    """The outcome of a policy that does not apply has its reason, and no data."""
    outcome = skipped('no pool')

    assert (outcome.outcome, outcome.reason) == ('SKIPPED', 'no pool')
    assert (outcome.data, outcome.nodes, outcome.cluster) == (None, {}, None)
