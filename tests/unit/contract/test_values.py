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


def test_integer_of_64_bits_is_accepted():
    """The largest and the smallest integers of the range are returned as they are."""
    assert [values.integer(n, '$') for n in (-values.LARGEST, 0, values.LARGEST)] == [
        -values.LARGEST,
        0,
        values.LARGEST,
    ]


def test_natural_below_zero_is_refused():
    """A negative integer is refused with the bound."""
    assert refusal(values.natural, -1, '$.x') == 'Expected `int` >= 0, got `-1` - at `$.x`'
    assert values.natural(0, '$.x') == 0


@pytest.mark.parametrize('value', ['5 %', True, None, 1e19, -1e19, float('nan')])
def test_number_of_another_type_or_beyond_64_bits_is_refused(value):
    """Only finite integers and floats within 64 bits are numbers."""
    assert refusal(values.number, value, '$.x', 'a share').startswith('Expected a share, got ')
    assert values.number(1.5, '$.x', 'a share') == 1.5


def test_mapping_of_another_type_is_refused_with_a_note():
    """The error ends with the note on what the map holds."""
    found = refusal(values.mapping, [], '$.x', ' (old: new)')

    assert found == 'Expected `object`, got `array` - at `$.x` (old: new)'
    assert values.mapping({'a': 1}, '$.x') == {'a': 1}


@pytest.mark.parametrize(('value', 'expected'), [({'a': 1}, {'a': 1}), ([1], {}), (None, {})])
def test_mapping_or_empty_of_another_type_is_empty(value, expected):
    """A value that is not a map counts as an empty map."""
    assert values.mapping_or_empty(value) == expected


@pytest.mark.parametrize(('value', 'expected'), [('', ''), ('x', 'x'), (7, None), (None, None)])
def test_text_or_none_of_another_type_is_none(value, expected):
    """A value that is not a string counts as absent."""
    assert values.text_or_none(value) == expected


def test_sequence_of_another_type_is_refused():
    """A value that is not a list is refused."""
    assert refusal(values.sequence, {}, '$.x') == 'Expected `array`, got `object` - at `$.x`'


@pytest.mark.parametrize(
    ('value', 'message'),
    [
        ('n1', 'Expected `array`, got `"n1"` - at `$.x`'),
        (['n1', 7], 'Expected `str`, got `7` - at `$.x[1]`'),
        (['n1', 'n1'], 'Expected each node once, got `n1` again - at `$.x[1]`'),
    ],
)
def test_node_ids_that_are_malformed_are_refused_with_their_position(value, message):
    """Values other than distinct strings are refused; the path names the position."""
    assert refusal(values.node_ids, value, '$.x') == message


def test_node_ids_are_returned_in_their_order():
    """A list of distinct ids is returned as it is."""
    assert values.node_ids(['n2', 'n1'], '$.x') == ['n2', 'n1']
