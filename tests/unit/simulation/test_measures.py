"""The measures of the distribution of nodes."""

from placement_worker.simulation import scenario_files
from placement_worker.simulation.run import play
from tests.factories import region_policy
from tests.unit.simulation.conftest import held, ideals


def test_record_of_a_lost_zone_counts_misplaced_nodes(run):
    """Deviation, misplaced nodes and skew are measured in nodes."""
    record = run([{'scale_out': 9}, {'lose_zone': 'c'}])[-1]

    assert [(one.name, one.deviation, one.usable) for one in record.standings] == [
        ('a', -1.5, True),
        ('b', -1.5, True),
        ('c', 3.0, False),
    ]
    assert (record.misplaced, record.skew) == (3.0, 4.5)


def test_ideals_with_caps_move_the_rest_to_other_regions(run):
    """Nodes beyond a cap count for the ideal of the other regions."""
    policy = region_policy(('R1', 300), ('R2', 100), ('R3', 100))
    steps = [{'caps': {'R1': 10, 'R2': 4}}, {'scale_out': 24}]

    record = run(steps, [policy], cloud={'regions': ['R1', 'R2', 'R3']})[-1]

    assert held(record) == ideals(record) == {'R1': 10, 'R2': 4, 'R3': 10}


def test_growing_weights_deviates_less_than_one_node(registry):
    """No zone of the scenario growing-weights deviates by a whole node."""
    records = list(play(scenario_files.load('growing-weights'), registry))

    assert records[-1].size == 1000
    assert max(abs(one.deviation) for record in records for one in record.standings) < 1
