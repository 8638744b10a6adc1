"""The types of command-line arguments."""

import argparse

import pytest

from placement_worker.cmd import argument_types


@pytest.mark.parametrize('text', ['abc', '', '0', '-1', 'inf', 'nan', '60'])
def test_seconds_that_are_no_number_within_the_limits_name_the_text(text):
    """A user reads which value is wrong and which values are valid."""
    with pytest.raises(argparse.ArgumentTypeError, match=f'less than 60, got {text}$'):
        argument_types.seconds(text, below=60)


def test_seconds_without_a_limit_are_any_positive_number():
    """A duration may have a fraction."""
    assert argument_types.seconds('86400.5') == 86400.5


@pytest.mark.parametrize(
    ('kind', 'least', 'text', 'number'), [(int, 1, '1', 1), (float, 0, '0.04', 0.04)]
)
def test_number_within_the_limit_is_parsed(kind, least, text, number):
    """A number that is large enough is returned."""
    assert argument_types.at_least(text, kind, least) == number


@pytest.mark.parametrize(
    ('kind', 'least', 'text', 'expected'),
    [
        (int, 1, '0', 'integer >= 1'),
        (int, 0, '1.5', 'integer >= 0'),
        (float, 0, 'inf', 'number >= 0'),
        (float, 0, 'nan', 'number >= 0'),
        (float, 0, 'x', 'number >= 0'),
    ],
)
def test_number_beyond_the_limit_names_the_text(kind, least, text, expected):
    """A user reads which value is wrong and which values are valid."""
    with pytest.raises(argparse.ArgumentTypeError, match=f'^expected {expected}, got {text}$'):
        argument_types.at_least(text, kind, least)
