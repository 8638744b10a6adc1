"""The content of a scenario."""

import pytest

from placement_worker.simulation.scenario import Step


def test_unrolled_expands_nested_repetitions(load):
    """Nested repetitions are expanded and counted."""
    inner = {'repeat': 3, 'steps': [{'scale_out': 1}, {'scale_in': 1}]}
    scenario = load([{'resize': 5}, {'repeat': 2, 'steps': [inner, {'scale_out': 2}]}])

    verbs = [step.verb for step in scenario.unrolled()]

    assert verbs == ['resize', *(['scale_out', 'scale_in'] * 3 + ['scale_out']) * 2]
    assert scenario.length == len(verbs)


@pytest.mark.parametrize('keys', [{}, {'scale_out': 1, 'scale_in': 1}])
def test_step_without_exactly_one_kind_is_refused(keys):
    """A step has exactly one kind."""
    with pytest.raises(ValueError, match='Expected one of scale_out'):
        Step(**keys)
