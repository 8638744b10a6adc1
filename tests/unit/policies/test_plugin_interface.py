"""Tests for the methods and schemas of policy classes."""

import functools

import pytest
from msgspec import Struct

from placement_worker.contract.model import SupportStatus
from placement_worker.policies import plugin_interface
from tests.unit.policies.good_policy import Good


class Unresolved(Struct, frozen=True):
    size: 'Absent' = None  # noqa: F821


async def later(self, request, state):
    """Return nothing, later."""


def wrapped(function):
    """Return a decorated function whose own signature fits any call."""

    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


def problem(**attributes):
    """Return the reason to skip a good policy type with other attributes."""
    variant = type('Variant', (Good,), {'interface': (2, 0), **attributes})
    return plugin_interface.problem('test.good-1.0', variant)


@pytest.mark.parametrize(
    ('attributes', 'expected'),
    [
        ({'check': 'x'}, 'check must be a method, got "x"'),
        ({'check': None}, 'check must be a method, got None'),
        ({'check': property(len)}, 'check must be a method, got <property object at '),
        ({'check': later}, 'check must not be async'),
        (
            {'check': lambda self, request: None},
            'check must take (self, request, state), got (self, request)',
        ),
        (
            {'check': lambda self, state, request: None},
            'check must take (self, request, state), got (self, state, request)',
        ),
        (
            {'check': wrapped(lambda self: None)},
            'check must take (self, request, state), got (self)',
        ),
        (
            {'detach': staticmethod(lambda request: None)},
            'detach must take (request, state), got (request)',
        ),
        (
            {'attach': lambda self, request, state, *, force: None},
            'attach must take (self, request, state), got (self, request, state, *, force)',
        ),
        (
            {'check_resources': lambda self: None},
            'check_resources must take (self, cloud), got (self)',
        ),
        ({'__init__': lambda self: None}, '__init__ must take (self, properties), got (self)'),
        (
            {'versions': {'1.0': Unresolved}},
            "the properties of version 1.0 have no JSON Schema: NameError: name 'Absent' is not "
            'defined',
        ),
        *(
            (
                {'support_status': {'1.0': [SupportStatus(*status)]}},
                'support_status must be a map of lists of SupportStatus with two strings',
            )
            for status in (('SUPPORTED', 2026.11), ('supported', '1'), ('SUPPORTED', None))
        ),
        ({'inputs': frozenset({'\ud800'})}, 'inputs must be a frozenset of strings'),
        (
            {'priority': 'high', 'attach': 3},
            'priority must be an integer, got "high"; attach must be a method, got 3',
        ),
    ],
)
def test_problem_of_a_method_that_cannot_be_called_says_what_to_change(attributes, expected):
    """A method or a schema that would fail at the first request is reported at start."""
    assert problem(**attributes).startswith(expected)


@pytest.mark.parametrize(
    'check',
    [
        lambda self, request, state, verbose=False: None,
        lambda *args: None,
        wrapped(lambda self, request, state: None),
        staticmethod(lambda request, state: None),
        classmethod(lambda cls, request, state: None),
    ],
)
def test_problem_of_a_method_that_can_be_called_is_none(check):
    """Any method that takes the arguments of the worker fits the interface."""
    assert problem(check=check) is None
