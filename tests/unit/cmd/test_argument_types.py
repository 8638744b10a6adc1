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
