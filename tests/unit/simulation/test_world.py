"""The simulated cluster."""

import pytest

from placement_worker.errors import Rejected
from placement_worker.policies.registry import Registry
from placement_worker.simulation.run import play
from placement_worker.simulation.scenario import InvalidScenario
from tests.factories import deletion_policy, region_policy, zone_policy
from tests.unit.policies.good_policy import Good
from tests.unit.simulation.conftest import held, ideals


def test_spec_with_values_of_other_types_is_read_as_a_check_reads_it(run):
    """Weights that are strings and names that are numbers count as in a check."""
    zones = [{'name': 1, 'weight': '100'}, {'name': 2, 'weight': '200'}]
    policy = zone_policy('a')
    policy['spec']['properties']['zones'] = zones

    records = run([{'scale_out': 3}], cloud={'zones': {'1': True, '2': True}}, policies=[policy])

    assert held(records[0]) == {'1': 1, '2': 2}
    assert ideals(records[0]) == {'1': 1.0, '2': 2.0}


def test_play_starts_with_the_nodes_of_the_scenario(load, registry):
    """The cluster starts with the nodes that the scenario lists."""
    nodes = [{'count': 2, 'zone': 'b'}, {'count': 1}]

    start, after = play(load([{'scale_out': 1}], cluster={'nodes': nodes}), registry)

    assert held(start) == {'a': 0, 'b': 2, 'c': 0, '(no known place)': 1}
    assert held(after)['a'] == 1


class Watching(Good):
    """A plugin that reports the time and the data of the nodes."""

    interface = (2, 0)

    def check(self, request, state):
        data = [node.data for node in request.cluster.nodes]
        raise Rejected(f'{state.now:%Y-%m-%d %H:%M} {data}')


def test_play_gives_a_policy_the_time_and_the_data_of_the_scenario(load):
    """A policy that reads the time or the data of nodes can be simulated."""
    registry = Registry([('test.good-1.0', Watching)])
    policies = [{'id': 'p', 'spec': {'type': 'test.good', 'version': '1.0'}}]
    nodes = [{'count': 1, 'zone': 'b', 'data': {'rack': 7}}]
    scenario = load(
        [{'scale_out': 1, 'expect': 'ERROR'}] * 2,
        policies,
        cluster={'nodes': nodes},
        start='2026-11-23T09:00:00+01:00',
    )

    _, *records = play(scenario, registry)

    assert [check.reason for record in records for check in record.checks] == [
        f"2026-11-23 {time} [{{'rack': 7, 'placement': {{'zone': 'b'}}}}]"
        for time in ('08:01', '08:02')
    ]


def test_start_without_a_time_zone_is_refused(load):
    """The simulated time does not depend on the host."""
    with pytest.raises(InvalidScenario, match='Expected an ISO 8601 time'):
        load([{'scale_out': 1}], start='2026-11-23T09:00:00')


def test_nodes_of_the_region_of_the_profile_stand_there_and_fail_there(run):
    """Nodes without a region of their own count for the region of the cluster's profile."""
    records = run(
        [{'fail_nodes': {'region': 'R1'}}, {'scale_in': 2}],
        [region_policy('R1', 'R2'), deletion_policy()],
        cloud={'regions': ['R1', 'R2']},
        cluster={'region': 'R1', 'nodes': [{'count': 2}, {'count': 4, 'region': 'R2'}]},
    )

    assert [held(record) for record in records] == [{'R1': 2, 'R2': 4}, {'R1': 0, 'R2': 4}]
    assert [record.failed for record in records] == [2, 0]


def test_play_with_new_weights_and_caps_applies_them_to_later_steps(run):
    """New weights and caps apply to the following steps."""
    weights = run(
        [{'scale_out': 4}, {'weights': {'a': 300}}, {'scale_out': 6}], [zone_policy('a', 'b')]
    )[-1]
    caps = run(
        [{'caps': {'R1': 1}}, {'scale_out': 4}],
        [region_policy('R1', 'R2')],
        cloud={'regions': ['R1', 'R2']},
    )[-1]

    assert held(weights) == {'a': 8, 'b': 2}
    assert held(caps) == {'R1': 1, 'R2': 3}
    assert ideals(caps) == {'R1': 1.0, 'R2': 3.0}


def test_play_without_policies_creates_nodes_in_no_known_place(run):
    """Without policies nodes have no place and no ideal."""
    records = run([{'scale_out': 5}, {'scale_in': 2}, {'delete_nodes': 1}], [])

    assert [held(record) for record in records] == [{'(no known place)': n} for n in (5, 3, 2)]
    assert ideals(records[-1]) == {'(no known place)': None}
    assert (records[-1].misplaced, records[-1].skew) == (0, 0)
