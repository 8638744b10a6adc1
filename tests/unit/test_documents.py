"""Reading YAML and JSON as people write them."""

import subprocess
import sys

import pytest

from placement_worker import documents


def test_times_stay_strings_as_in_json():
    assert documents.parse('a: 2026-01-01T00:00:00Z\nb: 2026-01-01') == [
        {'a': '2026-01-01T00:00:00Z', 'b': '2026-01-01'}
    ]


def test_several_documents_are_several_and_empty_ones_none():
    assert documents.parse('--- {a: 1}\n---\n--- {b: 2}\n') == [{'a': 1}, {'b': 2}]


def test_json_is_read_as_json():
    assert documents.parse('{"a": "\\ud83d\\ude00", "b": 1e3}') == [{'a': '\U0001f600', 'b': 1000.0}]


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('a: [1', 'while parsing a flow sequence'),
        ('a: 1\na: 2', "found the key 'a' twice"),
        ('a: !!python/object:os.system x', 'could not determine a constructor'),
        ('? [a]\n: 1', 'found a key that is no scalar'),
        ('\0', 'control characters are not allowed'),
    ],
)
def test_what_cannot_be_read_says_where(text, message):
    with pytest.raises(documents.Malformed) as refused:
        documents.parse(text)

    assert message in str(refused.value)
    assert '\n' not in str(refused.value)


def test_a_file_that_is_no_text_is_no_document(tmp_path):
    (tmp_path / 'f').write_bytes(b'\xff\xfe')

    with pytest.raises(documents.Malformed, match='f is not UTF-8 text'):
        documents.read(str(tmp_path / 'f'))


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
def test_what_is_nested_too_deeply_is_told_with_the_files_name_and_ends_no_process(tmp_path, text):
    (tmp_path / 'f').write_text(text)
    read = 'from placement_worker import documents as d\ntry: d.read("f")\nexcept d.Malformed as e: print(e)'

    done = subprocess.run([sys.executable, '-c', read], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('f is nested too deeply')
    assert done.stdout.count('\n') == 1


def test_yaml_may_be_as_deep_as_json():
    deep = documents.parse('[' * 900 + ']' * 900)

    assert documents.parse('- ' * 899 + '[]') == deep
    assert documents.parse('---\n[[], []]\n' * 2000) == [[[], []]] * 2000
