"""Tests for the errors of plugins, as the log and the caller get them."""

import pytest

from placement_worker.errors import InvalidSpec, Rejected
from placement_worker.policies import plugin_errors
from tests.unit.policies.good_policy import Good

NAMED = f'in test.good-1.0, a plugin of {Good.__module__}'


class Unreadable(Exception):
    def __str__(self):
        raise KeyError('text')


class UnreadableRejection(Rejected):
    __str__ = Unreadable.__str__


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
    assert raised.value.__notes__ == [NAMED]
    assert str(raised.traceback[-1].statement).strip() == 'raise error'


@pytest.mark.parametrize(
    ('error', 'text'),
    [
        (Rejected('x' * 1000), 'x' * 1000),
        (Rejected('x' * 1001), f'{"x" * 1000}...'),
        (InvalidSpec('x' * 1000), f'{"x" * 1000} ({NAMED})'),
        (InvalidSpec('x' * 1001), f'{"x" * 1000}... ({NAMED})'),
    ],
    ids=['reason', 'long reason', 'refusal', 'long refusal'],
)
def test_error_that_a_plugin_raises_on_purpose_has_a_text_of_bounded_length(error, text):
    """A huge reason fills neither log nor reply, also if the plugin raises one object again."""
    for _ in range(2):
        with (
            pytest.raises(type(error)) as raised,
            plugin_errors.named_in_decisions('test.good-1.0', Good),
        ):
            raise error

        assert str(raised.value) == text


def test_rejection_whose_text_cannot_be_read_names_the_plugin():
    """A rejection without a readable reason is an error of the plugin, at its line."""
    with (
        pytest.raises(RuntimeError) as raised,
        plugin_errors.named_in_decisions('test.good-1.0', Good),
    ):
        raise UnreadableRejection('no')

    assert str(raised.value) == 'UnreadableRejection, whose text raised KeyError'
    assert raised.value.__notes__ == [NAMED]
    assert str(raised.traceback[-1].statement).strip() == "raise UnreadableRejection('no')"
