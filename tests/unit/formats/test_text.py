"""Text for people: plurals, bounded lists, and untrusted text without control characters."""

import datetime
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker import errors
from placement_worker.cmd.output import Paint
from placement_worker.formats.text import (
    counted,
    day_or_time,
    did_you_mean,
    enumerated,
    escaped,
    escaped_lines,
    is_number,
    is_shown_detail,
    listed,
    nearest,
    shortened,
)
from tests import hostile_requests

REQUESTS = dict(hostile_requests.requests())
SHOWN = [
    ('check', '-f', 'table'), ('check', '-f', 'table', '--explain', 'full'),
    ('check', '-f', 'json'), ('check', '-f', 'yaml'), ('check', '--lines'),
    ('plan', '-f', 'table'), ('plan', '-f', 'json'),
]  # fmt: skip
CLOUD = {
    'zones': {'a': True, 'b': True, hostile_requests.TEXT: True},
    'regions': ['R1', hostile_requests.TEXT],
}


@pytest.mark.parametrize(
    ('count', 'words'), [(0, '0 nodes'), (1, '1 node'), (2, '2 nodes'), ('?', '? nodes')]
)
def test_counted_with_one_uses_the_singular(count, words):
    """A number of nodes reads as English."""
    assert counted(count, 'node') == words
    assert [counted(n, 'reply', 'replies') for n in (1, 2)] == ['1 reply', '2 replies']


@pytest.mark.parametrize(
    ('names', 'text', 'sentence'),
    [
        ('', '', ''),
        ('a', 'a', 'a'),
        ('ab', 'a, b', 'a and b'),
        ('abcde', 'a, b, c, d, e', 'a, b, c, d and e'),
        ('abcdefg', 'a, b, c, d, e and 2 more', 'a, b, c, d, e and 2 more'),
    ],
)
def test_lists_are_bounded_and_count_the_other_items(names, text, sentence):
    """A list in a message states how many items it omits; one within a sentence ends in "and"."""
    assert listed(names) == text
    assert enumerated(list(names)) == sentence
    assert listed('abc', str.upper, limit=2) == 'A, B and 1 more'


def test_shortened_with_a_long_text_returns_its_beginning():
    """A message shows at most 80 characters of a value."""
    assert shortened('x' * 80) == 'x' * 80
    assert shortened('x' * 81) == 'x' * 80 + '...'


@given(st.text(st.characters()))
def test_escaped_in_a_json_text_keeps_the_meaning(text):
    """Escaped JSON decodes to the data that was encoded."""
    encoded = json.dumps({text: text}, ensure_ascii=False)

    assert json.loads(escaped(encoded)) == {text: text}
    assert escaped(escaped(text)) == escaped(text)


@pytest.mark.parametrize('name', REQUESTS)
def test_commands_with_a_hostile_field_print_no_control_characters(program, name):
    """Tables, JSON, YAML and errors are safe on a terminal, whichever field is hostile."""
    for command, *options in SHOWN:
        status, out, err = program(
            command, *options, '--cloud', 'cloud', 'f', f=REQUESTS[name], cloud=CLOUD
        )

        assert hostile_requests.raw(out + err) == [], (command, *options)
        assert status in (0, 1, 2)


@pytest.mark.parametrize(
    ('moment', 'shown'),
    [
        ('2026-12-01T00:00:00+00:00', '2026-12-01'),
        ('2026-12-01T06:30:00+00:00', '2026-12-01T06:30:00Z'),
        ('2026-12-01T00:00:00+01:00', '2026-12-01T00:00:00+01:00'),
    ],
    ids=['midnight in UTC', 'UTC', 'another offset'],
)
def test_moment_is_shown_in_iso_8601_with_its_offset(moment, shown):
    """A reader sees which time zone a time is in, and a day without a time of day."""
    assert day_or_time(datetime.datetime.fromisoformat(moment)) == shown


@pytest.mark.parametrize(
    ('name', 'known', 'cutoff', 'near'),
    [
        ('nmae', ('id', 'name'), 0.6, 'name'),
        ('other', ('id', 'name'), 0.6, None),
        ('WARN', ('WARNING',), 0.72, 'WARNING'),
        ('WARN', ('WARNING',), 0.73, None),
        ('x', (), 0.6, None),
    ],
)
def test_did_you_mean_names_the_most_similar_name(name, known, cutoff, near):
    """A hint needs a name that is at least as similar as its user asks for."""
    assert nearest(name, known, cutoff) == near
    assert did_you_mean(name, known, '"', cutoff) == (f' (did you mean "{near}"?)' if near else '')


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('a\ud800', 'a\\ud800'),  # UTF-8 cannot encode a lone surrogate
        ('Zürich 東京 \\n "x"', 'Zürich 東京 \\n "x"'),
        ('a\x1b[2J\n', 'a\\u001b[2J\\n'),
    ],
)
def test_escaped_keeps_printable_text_of_any_script_only(text, shown):
    """No character that controls a terminal or ends a line passes; names stay readable."""
    assert escaped(text) == shown
    assert escaped_lines(f'{{\n{text[0]}') == f'{{\n{text[0]}'
    assert all(escaped(f'a{char}b').isprintable() for char in hostile_requests.CHARACTERS.values())
    assert Paint(on=True)(text, 'red') == f'\x1b[31m{shown}\x1b[0m'
    assert str(errors.InvalidRequest(text)) == shown


def test_details_and_numbers_are_shown_if_they_mean_something():
    """Empty details are hidden, except a meaningful 0; a boolean is no number."""
    details = [('zones', {}), ('created', 0), ('possible', 0), ('created', 1)]

    assert [is_shown_detail(*one) for one in details] == [False, False, True, True]
    assert [is_number(one) for one in (1, 1.5, True, '1', None)] == [True, True, *[False] * 3]
