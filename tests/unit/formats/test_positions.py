"""Positions in the text of documents."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.formats import documents, positions
from placement_worker.formats.documents import Source
from placement_worker.formats.positions import Position

YAML = """\
# two documents
---
a: 1
--- # empty
---
nodes:
  - {id: n1, index: one}
  - &second
    id: n2
    index: "two"
same: *second
7: seven
"""
JSON = """\
{"a": {"x": [1, {"y]": null}]},
 "nodes": [
   {"id": "n\\u00e9", "index": -1.5e3},
   [ ]
 ],
 "a": 2}
"""


@pytest.mark.parametrize(
    ('path', 'of_key', 'expected'),
    [
        ((), False, (6, 1)),
        (('nodes',), False, (7, 3)),
        (('nodes',), True, (6, 1)),
        (('nodes', 0, 'index'), False, (7, 21)),
        (('nodes', 0, 'index'), True, (7, 14)),
        (('nodes', 1), False, (8, 5)),
        (('nodes', 1, 'index'), False, (10, 12)),
        (('same', 'id'), False, (9, 9)),
        (('7',), False, (12, 4)),
        (('nodes', 0, 'missing', 'deeper'), False, (7, 5)),
        (('nodes', 9), False, (7, 3)),
    ],
)
def test_position_in_yaml_is_that_of_the_value_or_its_key(path, of_key, expected):
    """A value of any document has its line and column; a missing one those of its map or list."""
    document = documents.parse(Source('f', YAML))[1]

    assert document.position(path, of_key=of_key) == expected


@pytest.mark.parametrize(
    ('path', 'of_key', 'expected'),
    [
        ((), False, (1, 1)),
        (('nodes',), False, (2, 11)),
        (('nodes',), True, (2, 2)),
        (('nodes', 0, 'index'), False, (3, 31)),
        (('nodes', 0, 'index'), True, (3, 22)),
        (('nodes', 1), False, (4, 4)),
        (('a',), False, (6, 7)),
        (('nodes', 0, 'missing'), False, (3, 4)),
        (('nodes', 1, 0), False, (4, 4)),
        (('nodes', 'id'), False, (2, 11)),
    ],
)
def test_position_in_json_is_that_of_the_value_or_its_key(path, of_key, expected):
    """A value has its line and column; of two equal keys the last counts."""
    assert positions.in_json(JSON, path, of_key=of_key) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def paths_in(value, path=()):
    """Yield the path and the value of each value inside a value."""
    yield path, value
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, item in items:
            yield from paths_in(item, (*path, step))


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_position_in_json_of_each_value_leads_to_its_text(data, ascii_only, indent):
    """The text at the position of each value begins with the JSON of that value."""
    text = json.dumps(data, ensure_ascii=ascii_only, indent=indent)

    for path, value in paths_in(data):
        position = positions.in_json(text, path)
        rest = positions.line_at(positions.lines_of(text), position)[position.column - 1 :]
        encoded = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
        assert rest.startswith(positions.lines_of(encoded)[0])


@pytest.mark.parametrize(
    ('text', 'column', 'lines'),
    [
        ('index: one', 8, ['     1 | index: one', '       |        ^']),
        ('\tindex: one', 9, ['     1 |  index: one', '       |         ^']),
        ('東京: one', 5, ['     1 | 東京: one', '       |       ^']),
        ('a\x1b: one', 5, ['     1 | a\\u001b: one', '       |          ^']),
        ('', 1, ['     1 | ', '       | ^']),
    ],
    ids=['plain', 'tab', 'wide', 'control', 'empty'],
)
def test_snippet_has_a_caret_under_the_column(text, column, lines):
    """The caret is under the column, whatever the characters before it take on a terminal."""
    assert positions.snippet(positions.lines_of(text)[0], Position(1, column)).splitlines() == lines


def test_snippet_of_a_long_line_shows_the_part_around_the_column():
    """A line of any length yields a snippet that fits on a terminal."""
    line, caret = positions.snippet('x' * 5000 + 'Y' + 'z' * 5000, Position(1, 5001)).splitlines()

    assert line.startswith('     1 | ...xxx')
    assert line.endswith('zzz...')
    assert line[caret.index('^')] == 'Y'
    assert len(line) < 120


def test_line_beyond_the_end_of_the_text_is_empty():
    """The end of a text may be on a line that does not exist."""
    assert positions.line_at(['a: ['], Position(2, 1)) == ''
