"""Reading YAML and JSON documents: positions, duplicate keys, hostile texts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.formats import documents
from placement_worker.formats.documents import Document, Source
from placement_worker.formats.paths import SchemaError
from tests.unit.subprocesses import run_python

TIME = '2026-01-01T00:00:00Z'


def parsed(text):
    """Return the data of the documents in a text."""
    return [document.data for document in documents.parse(Source('f', text))]


@pytest.mark.parametrize(
    ('text', 'data'),
    [
        (f'[{TIME}, 2026-01-01, 7, yes]', [[TIME, '2026-01-01', 7, True]]),
        ('--- {a: 1}\n---\n--- {b: 2}\n', [{'a': 1}, {'b': 2}]),
        ('{"a": "\\ud83d\\ude00", "b": 1e3}', [{'a': '\U0001f600', 'b': 1000.0}]),
    ],
    ids=['timestamps are strings', 'without empty documents', 'escapes and numbers of JSON'],
)
def test_parse_of_a_text_returns_the_data_of_its_documents(text, data):
    """YAML and JSON are read by the rules of JSON for timestamps, escapes and numbers."""
    assert parsed(text) == data


BEGUN = 'a flow sequence, which begins at line 1, column 4'


@pytest.mark.parametrize(
    ('text', 'problem', 'position'),
    [
        ('a: [1,\nb: 2', f"did not find expected ',' or ']' while parsing {BEGUN}", (3, 1)),
        ('a: 1\na: 2', "found the key 'a' twice while reading a map, which begins at", (2, 1)),
        ('a: !!python/object:os.system x', 'could not determine a constructor', (1, 4)),
        ('? [a]\n: 1', 'found a key that is not a scalar', (1, 3)),
        ('\0', 'control characters are not allowed', None),
        ('{"b": {"a": 1, "a": 2}}', "found the key 'a' twice while reading a map", (1, 16)),
        ('{"": 1, "": 2}', "found the key '' twice", (1, 9)),
        ('[1, {"c": ":", "a": 1, "\\u0061": 2}]', "found the key 'a' twice", (1, 24)),
    ],
)
def test_parse_of_malformed_text_names_the_cause_and_the_position(text, problem, position):
    """The error is one line, and has the position for the snippet of a command."""
    with pytest.raises(documents.Malformed) as refused:
        parsed(text)

    (found,) = refused.value.problems
    assert problem in found.text
    assert position in (None, found.position)
    assert '\n' not in str(refused.value)
    assert refused.value.source == Source('f', text)


def test_read_of_a_binary_file_is_refused(tmp_path):
    """A file that is not UTF-8 text is refused by its name."""
    (tmp_path / 'f').write_bytes(b'\xff\xfe')

    with pytest.raises(documents.Malformed, match='f is not UTF-8 text'):
        documents.read(str(tmp_path / 'f'))


def test_invalid_lists_the_first_errors_in_the_order_of_the_text():
    """An error of a document lists a bounded number of problems by position."""
    (document,) = documents.parse(Source('f', 'a: 1\nb: 2\n'))
    paths = [('b',), ('a',), *[('a',)] * 10]

    invalid = document.invalid(SchemaError(path, f'wrong {path[0]}', True) for path in paths)

    assert [str(problem.position) for problem in invalid.problems] == [
        *['line 1, column 1'] * 9,
        'line 2, column 1',
    ]
    assert invalid.more == 2
    assert str(invalid) == 'wrong a (line 1, column 1) and 11 more errors'


DEEP = {
    'JSON': '[' * 100_000 + ']' * 100_000,
    'JSON maps': '{"a": ' * 100_000 + '1' + '}' * 100_000,
    'JSON that ends early': '[' * 100_000,
    'a list in lines': 'a:\n' + '- ' * 100_000 + 'x',
    'a list in brackets': 'a: ' + '[x, ' * 100_000 + ']' * 100_000,
    'maps in braces': '{a: ' * 100_000 + '1' + '}' * 100_000,
    'keys': '? ' * 100_000 + 'x',
    'keys of few levels': '? ' * 990 + 'x',
    'lists with tags': 'a: ' + '!!seq [' * 100_000 + ']' * 100_000,
}


@pytest.mark.parametrize('text', DEEP.values(), ids=DEEP.keys())
def test_read_of_deeply_nested_text_is_refused_with_the_file_name(tmp_path, text):
    """A deeply nested document is refused and does not crash the process."""
    (tmp_path / 'f').write_text(text)
    read = (
        'from placement_worker.formats import documents as d\n'
        'try: d.read("f")\nexcept d.Malformed as e: print(e)'
    )

    done = run_python('-c', read, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('f is nested too deeply')
    assert done.stdout.count('\n') == 1


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
 ]}
"""


@pytest.mark.parametrize(
    ('text', 'path', 'of_key', 'expected'),
    [
        (YAML, (), False, (6, 1)),
        (YAML, ('nodes',), False, (7, 3)),
        (YAML, ('nodes',), True, (6, 1)),
        (YAML, ('nodes', 0, 'index'), False, (7, 21)),
        (YAML, ('nodes', 0, 'index'), True, (7, 14)),
        (YAML, ('nodes', 1), False, (8, 5)),
        (YAML, ('nodes', 1, 'index'), False, (10, 12)),
        (YAML, ('same', 'id'), False, (9, 9)),
        (YAML, ('7',), False, (12, 4)),
        (YAML, ('nodes', 0, 'missing', 'deeper'), False, (7, 5)),
        (YAML, ('nodes', 9), False, (7, 3)),
        (JSON, ('nodes',), True, (2, 2)),
        (JSON, ('nodes', 0, 'index'), False, (3, 31)),
        (JSON, ('nodes', 0, 'index'), True, (3, 22)),
        (JSON, ('nodes', 0, 'missing'), False, (3, 4)),
        (JSON, ('nodes', 1, 0), False, (4, 4)),
        (JSON, ('nodes', 'id'), False, (2, 11)),
    ],
)
def test_position_in_a_document_is_that_of_the_value_or_its_key(text, path, of_key, expected):
    """A value of any document has its line and column; a missing one those of its map or list."""
    document = Document(None, Source('f', text), 1 if text is JSON else 2)

    (problem,) = document.invalid([SchemaError(path, 'wrong', of_key)]).problems
    assert problem.position == expected


def test_position_in_json_that_is_no_yaml_is_unknown():
    """YAML has no escaped surrogates; the error of such a JSON document names the path alone."""
    (document,) = documents.parse(Source('f', '{"a": "\\ud83d\\ude00"}'))

    (problem,) = document.invalid([SchemaError(('a',), 'wrong', False)]).problems
    assert problem.position is None


COLONS = st.recursive(
    st.text(':a"\\u3\n') | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(':ab\\', max_size=2), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(COLONS, st.booleans())
def test_json_with_each_key_once_is_read_whatever_it_holds(data, ascii_only):
    """Nothing else is refused: colons in texts, escapes, and equal keys of different objects."""
    text = json.dumps([data, data], ensure_ascii=ascii_only, indent=1)

    assert [document.data for document in documents.parse(Source('f', text))] == [[data, data]]


def test_found_with_a_number_that_msgspec_cannot_read_still_finds_the_key():
    """A huge number in the text hides no duplicate key."""
    text = '{"n": ' + '9' * 5000 + '.5e9999, "a": 1, "a": 2}'

    assert documents.duplicate_key(text) == 'a'
