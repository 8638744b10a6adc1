"""Tests for the errors of plugins, as the log and the caller get them."""

import pytest

from placement_worker.policies import plugin_errors
from tests.unit.policies.good_policy import Good


class Unreadable(Exception):
    def __str__(self):
        raise KeyError('text')


@pytest.mark.parametrize(
    ('error', 'text'),
    [
        (ValueError('x' * 1000), 'x' * 1000),
        (ValueError('x' * 1001), f'ValueError: {"x" * 1000}...'),
        (Unreadable(), 'Unreadable, whose text raised KeyError'),
    ],
)
def test_error_of_a_plugin_has_a_text_of_bounded_length_and_names_it(error, text):
    """Neither a huge text nor one that cannot be read hides which policy raised the error."""
    with (
        pytest.raises((ValueError, RuntimeError)) as raised,
        plugin_errors.named_in_errors('test.good-1.0', Good),
    ):
        raise error

    assert str(raised.value) == text
    assert raised.value.__notes__ == [f'in test.good-1.0, a plugin of {Good.__module__}']
    assert str(raised.traceback[-1].statement).strip() == 'raise error'
