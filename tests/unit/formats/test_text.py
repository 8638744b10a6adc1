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


def test_counted_with_an_irregular_noun_uses_its_plural():
    """A noun may have a plural that does not end in one more "s"."""
    assert [counted(n, 'reply', 'replies') for n in (1, 2)] == ['1 reply', '2 replies']


@pytest.mark.parametrize(
    ('items', 'shown'), [('', ''), ('a', 'a'), ('abc', 'a, b, c'), ('abcde', 'a, b, c and 2 more')]
)
def test_listed_with_more_items_than_the_limit_counts_the_others(items, shown):
    """A list in a message is bounded, and states how many items it omits."""
    assert listed(items, limit=3) == shown


@pytest.mark.parametrize(
    ('names', 'shown'),
    [
        ('', ''),
        ('a', 'a'),
        ('ab', 'a and b'),
        ('abc', 'a, b and c'),
        ('abcde', 'a, b, c and 2 more'),
    ],
)
def test_enumerated_joins_the_last_two_names_by_and(names, shown):
    """A list within a sentence ends in "and"; more names than the limit are counted."""
    assert enumerated(list(names), limit=3) == shown


@pytest.mark.parametrize(
    ('length', 'shown'), [(80, 'x' * 80), (81, 'x' * 80 + '...')], ids=['fits', 'too-long']
)
def test_shortened_with_a_long_text_returns_its_beginning(length, shown):
    """A message shows at most 80 characters of a value."""
    assert shortened('x' * length) == shown


@pytest.mark.parametrize(
    'char', hostile_requests.CHARACTERS.values(), ids=list(hostile_requests.CHARACTERS)
)
def test_escaped_with_an_unprintable_character_returns_a_printable_text(char):
    """No character that controls a terminal or ends a line passes."""
    assert escaped(f'a{char}b').isprintable()


@given(st.text(st.characters()))
def test_escaped_in_a_json_text_keeps_the_meaning(text):
    """Escaped JSON decodes to the data that was encoded."""
    encoded = json.dumps({text: text}, ensure_ascii=False)

    assert json.loads(escaped(encoded)) == {text: text}
    assert escaped(escaped(text)) == escaped(text)


def test_escaped_with_a_lone_surrogate_returns_a_text_that_can_be_written():
    """Text that UTF-8 cannot encode is shown in escaped form."""
    assert escaped('a\ud800') == 'a\\ud800'


def test_escaped_lines_with_indented_json_keeps_the_line_breaks():
    """Line breaks stay, and the text of each line is escaped."""
    assert escaped_lines('{\n  "a": "\x9b"\n}') == '{\n  "a": "\\u009b"\n}'


def test_escaped_with_printable_text_of_any_script_returns_it_unchanged():
    """Names of people and places in other scripts stay readable."""
    assert escaped('Zürich 東京 \\n "x"') == 'Zürich 東京 \\n "x"'


def test_paint_with_an_escape_sequence_in_the_text_leaves_only_its_own():
    """Only the program sets colors."""
    assert Paint(on=True)('a\x1b[2J', 'red') == '\x1b[31ma\\u001b[2J\x1b[0m'


def test_error_with_hostile_text_is_one_printable_line():
    """The message of an error contains no control character."""
    assert hostile_requests.raw(str(errors.InvalidRequest(hostile_requests.TEXT))) == []


@pytest.mark.parametrize('name', REQUESTS)
def test_commands_with_a_hostile_field_print_no_control_characters(program, name):
    """Tables, JSON, YAML and errors are safe on a terminal, whichever field is hostile."""
    for command, *options in SHOWN:
        status, out, err = program(
            command, *options, '--cloud', 'cloud', 'f', f=REQUESTS[name], cloud=CLOUD
        )

        assert hostile_requests.raw(out + err) == [], (command, *options)
        assert status in (0, 1, 2)


def test_unknown_command_with_control_characters_is_shown_escaped(program):
    """The name of an unknown command cannot control the terminal."""
    _, out, err = program('\x1b[2Jevil')

    assert hostile_requests.raw(out + err) == []
    assert 'evil' in err


@pytest.mark.parametrize(
    ('detail', 'value', 'shown'),
    [('zones', {}, False), ('created', 0, False), ('possible', 0, True), ('created', 1, True)],
)
def test_is_shown_of_an_empty_detail_is_false_unless_zero_means_something(detail, value, shown):
    """Empty details are hidden, except the number of possible nodes."""
    assert is_shown_detail(detail, value) is shown


@pytest.mark.parametrize(
    ('value', 'number'), [(1, True), (1.5, True), (True, False), ('1', False), (None, False)]
)
def test_is_number_of_a_boolean_is_false(value, number):
    """Tables align integers and floats right, and nothing else."""
    assert is_number(value) is number


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
