"""Words and rules for numbers."""

import pytest

from placement_worker.formats import plurals


@pytest.mark.parametrize(
    ('count', 'words'), [(0, '0 nodes'), (1, '1 node'), (2, '2 nodes'), ('?', '? nodes')]
)
def test_nodes_of_a_count_uses_the_singular_for_one_only(count, words):
    """A count of nodes reads as English."""
    assert plurals.nodes(count) == words


@pytest.mark.parametrize(
    ('detail', 'value', 'shown'),
    [('zones', {}, False), ('created', 0, False), ('possible', 0, True), ('created', 1, True)],
)
def test_is_shown_of_an_empty_detail_is_false_unless_zero_means_something(detail, value, shown):
    """Empty details are hidden, except the number of possible nodes."""
    assert plurals.is_shown(detail, value) is shown


@pytest.mark.parametrize(
    ('value', 'number'), [(1, True), (1.5, True), (True, False), ('1', False), (None, False)]
)
def test_is_number_of_a_boolean_is_false(value, number):
    """Tables align integers and floats right, and nothing else."""
    assert plurals.is_number(value) is number
