"""The arguments of the commands on cordons."""

import argparse
import datetime
import re

import pytest

from placement_worker.cmd import cordon_arguments
from placement_worker.errors import ConfigurationError


def parsed(*args):
    """Return the place that arguments name."""
    parser = argparse.ArgumentParser()
    cordon_arguments.add_place(parser)
    return cordon_arguments.place_of(parser.parse_args(args))


def test_place_of_a_zone_a_region_or_both_is_returned():
    """A place is a zone, a region, or a zone of a region."""
    assert parsed('--zone', 'a') == ('a', None)
    assert parsed('--region', 'R') == (None, 'R')
    assert parsed('--zone', 'a', '--region', 'R') == ('a', 'R')


def test_place_of_no_arguments_is_refused():
    """No command closes or opens everything."""
    with pytest.raises(ConfigurationError, match='Expected --zone, --region or both, got none'):
        parsed()


def test_text_of_a_length_within_the_limit_is_accepted():
    """A text has at least one character, and at most the given number."""
    checked = cordon_arguments.text_of_at_most(3)

    assert checked('abc') == 'abc'
    for wrong in ('', 'abcd'):
        problem = f'1 to 3 characters, got {len(wrong)}'
        with pytest.raises(argparse.ArgumentTypeError, match=problem):
            checked(wrong)


def test_future_time_with_an_offset_is_returned():
    """The end of a cordon is a moment that is the same on every host."""
    expected = datetime.datetime(2999, 12, 1, 6, tzinfo=datetime.UTC)

    assert cordon_arguments.future_time('2999-12-01T06:00Z') == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('tomorrow', 'a time in ISO 8601 with its offset'),
        ('2999-12-01T06:00', 'a time in ISO 8601 with its offset'),
        ('2000-12-01T06:00Z', 'a time in the future'),
    ],
)
def test_future_time_of_another_text_is_refused(text, expected):
    """A time without an offset, or one that is over, cannot end a cordon."""
    with pytest.raises(argparse.ArgumentTypeError, match=f'expected {expected}.* got {text}'):
        cordon_arguments.future_time(text)


@pytest.mark.parametrize(('text', 'hours'), [('90m', 1.5), ('10h', 10), ('2d', 48)])
def test_end_after_a_duration_is_a_time_from_now(text, hours):
    """An operator at night need not compute a time with its offset."""
    parser = argparse.ArgumentParser()
    cordon_arguments.add_end(parser)
    began = cordon_arguments.now().replace(microsecond=0)

    end = parser.parse_args(['--for', text]).until

    passed = datetime.timedelta(hours=hours)
    assert began + passed <= end <= cordon_arguments.now() + passed


@pytest.mark.parametrize('text', ['10', 'h', '0h', '-1h', '1.5h', '10H', '999999999d', '1h30m'])
def test_end_after_another_text_is_refused(text):
    """A duration in another form does not end a cordon at a time that was not meant."""
    problem = f'expected minutes, hours or days, e.g. 90m, 10h or 2d, got {text}'
    with pytest.raises(argparse.ArgumentTypeError, match=re.escape(problem)):
        cordon_arguments.time_after(text)


@pytest.mark.parametrize('given', [[], ['--for', '1h', '--until', '2999-12-01T06:00Z']])
def test_end_is_given_in_exactly_one_way(given):
    """A cordon has one end."""
    parser = argparse.ArgumentParser()
    cordon_arguments.add_end(parser)

    with pytest.raises(SystemExit):
        parser.parse_args(given)
