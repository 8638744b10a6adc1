"""Checked values of free-form maps, and the words of their errors."""

import pytest

from placement_worker.contract import values
from placement_worker.errors import InvalidInput


def refusal(check, *arguments):
    """Return the text of the error that a check raises."""
    with pytest.raises(InvalidInput) as refused:
        check(*arguments)
    return str(refused.value)


@pytest.mark.parametrize(
    ('value', 'shown'),
    [
        (True, '`true`'),
        ('2', '`"2"`'),
        (1.0, '`1.0`'),
        (None, '`null`'),
        ([1], '`array`'),
        ({}, '`object`'),
        ('x' * 100, f'`"{"x" * 80}..."`'),
        (2**63, 'a number beyond 64 bits'),
    ],
)
def test_integer_of_another_type_is_refused_and_shown_briefly(value, shown):
    """The error shows scalars as JSON, cut to 80 characters, and other values by their type."""
    assert refusal(values.integer, value, '$.x') == f'Expected `int`, got {shown} - at `$.x`'


@pytest.mark.parametrize('value', [-values.LARGEST, 0, values.LARGEST])
def test_integer_of_64_bits_is_accepted(value):
    """The largest and the smallest integers of the range are returned as they are."""
    assert values.integer(value, '$') == value


@pytest.mark.parametrize('value', ['5 %', True, None, 1e19, -1e19, float('nan')])
def test_number_of_another_type_or_beyond_64_bits_is_refused(value):
    """Only finite integers and floats within 64 bits are numbers."""
    assert refusal(values.number, value, '$.x', 'a share').startswith('Expected a share, got ')
    assert values.number(1.5, '$.x', 'a share') == 1.5
