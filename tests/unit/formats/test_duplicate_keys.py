"""Duplicate keys in JSON objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.formats import documents, duplicate_keys
from placement_worker.formats.documents import Source

VALUES = st.recursive(
    st.text(':a"\\u3\n') | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(':ab\\', max_size=2), inner, max_size=3)
    ),
    max_leaves=9,
)


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('{"a": 1, "a": 1}', r'found the key `a` twice - at `\$`'),
        ('{"b": [1, {"x": {"a": 1, "c": ":", "\\u0061": 2}}]}', r'`a` twice - at `\$\.b\[1\]\.x`'),
        ('{"a": 1, "a": 2, "b": "\\u003a"}', r'`a` twice - at `\$`'),
        ('{"a": 1, "a": 2, "b": "\\u003A"}', r'`a` twice - at `\$`'),
    ],
)
def test_json_with_a_key_twice_is_refused_with_key_and_place(text, said):
    """No value of a document is dropped silently."""
    with pytest.raises(documents.Malformed, match=said):
        documents.parse(Source('f', text))


@given(VALUES, st.booleans())
def test_json_with_each_key_once_is_read_whatever_it_holds(data, ascii_only):
    """Nothing else is refused: colons in texts, escapes, and equal keys of different objects."""
    text = json.dumps([data, data], ensure_ascii=ascii_only, indent=1)

    assert [document.data for document in documents.parse(Source('f', text))] == [[data, data]]


def test_found_with_a_number_that_msgspec_cannot_read_still_finds_the_key():
    """A huge number in the text hides no duplicate key."""
    assert duplicate_keys.found('{"n": ' + '9' * 5000 + '.5e9999, "a": 1, "a": 2}') == (
        '`a` twice - at `$`'
    )


def test_found_with_the_decoded_document_does_not_decode_it_again(monkeypatch):
    """A caller that has decoded a text pays for its decoding once."""
    monkeypatch.delattr('msgspec.json.decode')

    assert duplicate_keys.found('{"a": 1}', {'a': 1}) is None
