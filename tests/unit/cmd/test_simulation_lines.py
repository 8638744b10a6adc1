"""The lines of a simulation."""

import pytest

from tests.factories import spreading, zone_policy
from tests.unit.cmd.test_simulate import SCENARIO

SKEWED = 'Zone a would hold 6 nodes, ideal 3.0, allowed skew 1: zone b is unavailable'


def test_simulate_with_protected_nodes_prints_their_number(program):
    """The totals of a step have the number of protected nodes."""
    steps = [{'scale_out': 3}, {'protect': 2}]

    _, out, _ = program('simulate', 's', s={**SCENARIO, 'steps': steps})

    assert '    3 nodes, 2 protected; 0.5 off their ideal, skew 1.0' in out.splitlines()


@pytest.mark.parametrize(
    ('mode', 'lines'),
    [
        (
            'best_effort',
            [
                '    CLUSTER_SCALE_OUT: OK, Completed policy checking.',
                f'    Warning: {SKEWED}',
            ],
        ),
        ('strict', [f'    CLUSTER_SCALE_OUT: ERROR, {SKEWED}']),
    ],
)
def test_simulate_with_a_lost_zone_shows_the_skew(program, mode, lines):
    """A plan beyond the allowed skew shows as a warning, or as the reason of an error."""
    steps = [{'lose_zone': 'b'}, {'scale_out': 6}]
    policies = [spreading(zone_policy('a', 'b'), mode=mode)]

    _, out, _ = program('simulate', 's', s={**SCENARIO, 'policies': policies, 'steps': steps})

    shown = out.splitlines()
    start = shown.index(lines[0])
    assert shown[start : start + len(lines)] == lines


def test_simulate_with_one_node_counts_it_in_the_singular(program):
    """The totals of a step with one node have its noun in the singular."""
    _, out, _ = program('simulate', 's', s={**SCENARIO, 'steps': [{'scale_out': 1}]})

    assert '    1 node; 0.5 off their ideal, skew 1.0' in out.splitlines()


def test_simulate_with_compare_adds_a_column_and_totals(program):
    """A comparison adds a column and the totals of the greedy rule."""
    steps = {
        **SCENARIO,
        'cloud': {'zones': dict.fromkeys('abc', True)},
        'policies': [zone_policy('a', 'b', 'c')],
    }

    _, out, _ = program(
        'simulate', 's', '--compare', 'greedy', s={**steps, 'steps': [{'scale_out': 4}]}
    )

    assert '    | c     |     1 |   1.3 |      -0.3 | yes    |      0 |' in out
    assert '    greedy: 4 nodes; 1.3 off their ideal, skew 2.0' in out
    assert out.splitlines()[-1].startswith('greedy: 1 steps, ')


def test_simulate_prints_the_verdict_above_the_totals(program):
    """The summary has the verdict of the report, for each rule."""
    _, out, _ = program('simulate', 'zone-outage', '--compare', 'greedy')

    verdict, totals, greedy, greedy_totals = out.splitlines()[-4:]
    assert verdict == 'Worst: 12 nodes off at step 11; even again at step 15.'
    assert totals.startswith('16 steps, ')
    assert greedy == 'greedy: worst: 12 nodes off at step 11; even again at step 15.'
    assert greedy_totals.startswith('greedy: 16 steps, ')


def test_simulate_with_a_load_balancer_prints_members_and_updates(program):
    """Each step shows the members of the pool, the updates, and the check after the action."""
    status, out, err = program('simulate', 'load-balancer', '--every', '4')

    assert (status, err) == (0, '')
    assert '    CLUSTER_SCALE_OUT AFTER: OK, Completed policy checking.' in out
    assert '; 18 members of balance, 2 updates' in out


def test_simulate_with_a_shortage_counts_the_nodes_that_failed(program):
    """The totals have the number of nodes for which the cloud had no room, for each rule."""
    _, out, _ = program('simulate', 'zone-shortage', '--compare', 'greedy')

    assert '45 nodes created, 17 deleted, 2 failed for lack of capacity; off' in out
    assert '42 nodes created, 17 deleted, 5 failed for lack of capacity; off' in out
