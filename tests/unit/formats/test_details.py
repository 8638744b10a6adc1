"""The details of a decision that tables show."""

import pytest

from placement_worker.formats import details


@pytest.mark.parametrize(
    ('detail', 'value', 'shown'),
    [('zones', {}, False), ('created', 0, False), ('possible', 0, True), ('created', 1, True)],
)
def test_is_shown_of_an_empty_detail_is_false_unless_zero_means_something(detail, value, shown):
    """Empty details are hidden, except the number of possible nodes."""
    assert details.is_shown(detail, value) is shown


@pytest.mark.parametrize(
    ('value', 'number'), [(1, True), (1.5, True), (True, False), ('1', False), (None, False)]
)
def test_is_number_of_a_boolean_is_false(value, number):
    """Tables align integers and floats right, and nothing else."""
    assert details.is_number(value) is number
