"""Reading YAML and JSON documents."""

import subprocess
import sys

import pytest

from placement_worker.formats import documents
from placement_worker.formats.documents import Source


def parsed(text):
    """Return the data of the documents in a text."""
    return [document.data for document in documents.parse(Source('f', text))]


def test_parse_of_yaml_with_timestamps_keeps_them_as_strings():
    """Timestamps in YAML stay strings, as in JSON."""
    assert parsed('a: 2026-01-01T00:00:00Z\nb: 2026-01-01') == [
        {'a': '2026-01-01T00:00:00Z', 'b': '2026-01-01'}
    ]


def test_parse_of_several_documents_leaves_out_empty_ones():
    """Each document of a YAML stream is returned, except empty ones."""
    assert parsed('--- {a: 1}\n---\n--- {b: 2}\n') == [{'a': 1}, {'b': 2}]


def test_parse_of_json_reads_its_escapes_and_numbers():
    """JSON is read by JSON's rules for escapes and numbers."""
    assert parsed('{"a": "\\ud83d\\ude00", "b": 1e3}') == [{'a': '\U0001f600', 'b': 1000.0}]


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('a: [1', 'while parsing a flow sequence'),
        ('a: 1\na: 2', "found the key 'a' twice"),
        ('a: !!python/object:os.system x', 'could not determine a constructor'),
        ('? [a]\n: 1', 'found a key that is not a scalar'),
        ('\0', 'control characters are not allowed'),
    ],
)
def test_parse_of_malformed_text_names_the_cause_in_one_line(text, message):
    """Malformed text is refused in one line with its cause."""
    with pytest.raises(documents.Malformed) as refused:
        parsed(text)

    assert message in str(refused.value)
    assert '\n' not in str(refused.value)


def test_read_of_a_binary_file_is_refused(tmp_path):
    """A file that is not UTF-8 text is refused by its name."""
    (tmp_path / 'f').write_bytes(b'\xff\xfe')

    with pytest.raises(documents.Malformed, match='f is not UTF-8 text'):
        documents.read(str(tmp_path / 'f'))


@pytest.mark.parametrize(
    ('text', 'problem', 'position'),
    [
        (
            'a: [1,\nb: 2',
            "did not find expected ',' or ']' while parsing a flow sequence, which begins at "
            'line 1, column 4',
            (3, 1),
        ),
        ('a: 1\na: 2', "found the key 'a' twice while reading a map, which begins at", (2, 1)),
        ('{"b": {"a": 1, "a": 2}}', 'found the key `a` twice - at `$.b`', (1, 7)),
    ],
    ids=['yaml', 'yaml-duplicate', 'json-duplicate'],
)
def test_parse_of_malformed_text_gives_the_position(text, problem, position):
    """The error has the position in the text, for the snippet of a command."""
    with pytest.raises(documents.Malformed) as refused:
        parsed(text)

    (found,) = refused.value.problems
    assert found.text.startswith(problem)
    assert found.position == position
    assert refused.value.source == Source('f', text)


def test_invalid_lists_the_first_errors_in_the_order_of_the_text():
    """An error of a document lists a bounded number of problems by position."""
    (document,) = documents.parse(Source('f', 'a: 1\nb: 2\n'))
    paths = [('b',), ('a',), *[('a',)] * 10]

    invalid = document.invalid((path, f'wrong {path[0]}', True) for path in paths)

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

    done = subprocess.run(
        [sys.executable, '-c', read], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('f is nested too deeply')
    assert done.stdout.count('\n') == 1


def test_parse_of_yaml_accepts_the_depth_of_json():
    """YAML may be nested as deeply as JSON."""
    deep = parsed('[' * 900 + ']' * 900)

    assert parsed('- ' * 899 + '[]') == deep
    assert parsed('---\n[[], []]\n' * 2000) == [[[], []]] * 2000
