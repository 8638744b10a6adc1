"""The simulated engine."""

import pytest

from placement_worker import errors
from placement_worker.simulation.engine import Engine
from tests.factories import deletion_policy, redistributing, zone_policy
from tests.unit.simulation.conftest import held


def test_play_replaces_a_failed_node_in_the_zone_with_room(run):
    """After one failure no replacement goes to the full zone, though the failed node is gone."""
    policy = redistributing(zone_policy('a', 'b'), initial_s=3600)
    failing = [{'fail_nodes': 1}, {'replace_failed': True}]
    replace = [{'replace_failed': True}, *failing * 4]

    records = run([{'exhaust': 'a'}, {'scale_out': 1}, *replace], [policy, deletion_policy()])

    refused = [sum(check.refused for check in record.checks) for record in records]
    assert refused == [0, 1, *[0] * 9]
    assert held(records[-1]) == {'a': 0, 'b': 1}


@pytest.mark.parametrize(
    ('policy', 'error'),
    [
        (zone_policy(), errors.InvalidSpec),
        ({'id': 'x', 'spec': {'type': 'none', 'version': 1}}, errors.PolicyTypeNotFound),
    ],
)
def test_engine_with_an_invalid_policy_is_refused_before_the_first_step(
    load, registry, policy, error
):
    """An invalid spec or an unknown policy type is refused before the first step."""
    with pytest.raises(error, match=r'\$\.policies\[0\]\.spec'):
        Engine(load([{'scale_out': 1}], [policy]), registry)


def test_play_beyond_the_largest_size_of_a_scenario_fails(run):
    """The limit of the scenario is the limit of the worker."""
    first, second = run([{'scale_out': 1}, {'scale_out': 1}], max_nodes=1)

    assert (first.status, second.status, second.size) == ('OK', 'ERROR', 1)
