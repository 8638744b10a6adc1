"""The totals of plans that policies write."""

import pytest

from placement_worker.contract import plan_totals


@pytest.mark.parametrize(
    ('count', 'plan', 'entries'),
    [
        (2, {}, []),
        (2, {'zones': {'a': 1, 'b': 1}}, [{'zone': 'a'}, {'zone': 'b'}]),
        (2, {'zones': {'a': 1}, 'regions': {'R': 2}}, [{}, {}]),
    ],
)
def test_check_of_totals_up_to_the_count_passes(count, plan, entries):
    """A plan may name fewer zones than nodes, and no places at all."""
    plan_totals.check('creation', count, plan, entries)


@pytest.mark.parametrize(
    ('plan', 'entries', 'error'),
    [
        ({'zones': {'a': 2, 'b': 1}}, [], 'zones must have at most 2 nodes, got 3'),
        ({'regions': {'R': 3}}, [], 'regions must have at most 2 nodes, got 3'),
        ({}, [{}], 'entries must have 2 places, got 1'),
    ],
)
def test_check_of_totals_that_contradict_the_count_names_them(plan, entries, error):
    """The error of a policy says which of its values do not fit its count."""
    with pytest.raises(ValueError, match=f'^{error}$'):
        plan_totals.check('deletion', 2, plan, entries)


def test_check_of_an_unknown_kind_names_those_that_exist():
    """A misspelled kind would write a plan that neither the engine nor another policy reads."""
    with pytest.raises(ValueError, match="kind must be 'creation' or 'deletion', got 'Creation'"):
        plan_totals.check('Creation', 2, {}, [])
