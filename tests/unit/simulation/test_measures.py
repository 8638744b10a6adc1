"""The measures of the distribution of nodes, and the verdict on a run."""

import pytest

from placement_worker.simulation.measures import Evenness, Standing


def verdict(*deviations, ideal=50.0):
    """Return the verdict on a run in which one place has these deviations, another the opposite."""
    evenness = Evenness()
    for number, deviation in enumerate(deviations):
        places = [Standing(f'z{sign}', 50 + sign * deviation, ideal, True) for sign in (1, -1)]
        evenness.add(number, places)
    return evenness.verdict


@pytest.mark.parametrize(
    ('deviations', 'expected'),
    [
        ([0, 0.9, 0], 'Even after every step: no place was ever a whole node off its ideal'),
        ([0, 5, 2, 0, 0], 'Worst: 5 nodes off at step 1; even again at step 3'),
        ([0, 2, 5, 2], 'Worst: 5 nodes off at step 2; still uneven at the last step'),
        ([0, 2, 5], 'Worst: 5 nodes off at step 2, the last one'),
        ([0, 5, 0, 2, 2, 0], 'Worst: 5 nodes off at step 1; even again at step 2; uneven after 2 '
         'later steps, and even from step 5 on'),
        ([0, 5, 0, 2], 'Worst: 5 nodes off at step 1; even again at step 2, but uneven after 1 '
         'later step and at the end'),
        ([5, 0], 'Worst: 5 nodes off at the start; even at step 1'),
        ([2, 5, 2], 'Worst: 5 nodes off at step 1; still uneven at the last step'),
        ([0, 5, 0, 5, 0], 'Worst: 5 nodes off at step 1; even again at step 2; uneven after 1 '
         'later step, and even from step 4 on'),
        ([0, 2, 0, 5, 0], 'Worst: 5 nodes off at step 3; even again at step 4'),
        ([0, 1, 0], 'Worst: 1 node off at step 1; even again at step 2'),
        ([0, 1.25, 0], 'Worst: 1.2 nodes off at step 1; even again at step 2'),
    ],
)  # fmt: skip
def test_verdict_is_true_of_each_course(deviations, expected):
    """The verdict names the worst step, and whether and when the nodes were even again."""
    assert verdict(*deviations) == expected


def test_verdict_without_a_placement_policy_says_so():
    """Without ideals there is nothing to judge."""
    assert verdict(0, 0, ideal=None).startswith('No placement policy is bound')
