"""Reading YAML and JSON as people write them."""

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
