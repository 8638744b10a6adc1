"""Paths of values in a document."""

import pytest

from placement_worker.formats import paths

PATHS = [
    ('$', ()),
    ('$.cluster.nodes[3].index', ('cluster', 'nodes', 3, 'index')),
    ('$[0][1]', (0, 1)),
]


@pytest.mark.parametrize(('text', 'path'), PATHS)
def test_shown_path_is_read_again_from_a_message(text, path):
    """A path that a message shows is found in the message."""
    assert paths.shown(path) == text
    assert paths.named_in(f'Expected `int` - at `{text}`; correct the file') == path


def test_named_path_ends_before_a_key_that_is_not_spelled_out():
    """The path of a value in a free-form map leads to the map."""
    assert paths.named_in('Expected `int` - at `$.action.data[...].count`') == ('action', 'data')


def test_named_path_of_a_message_without_one_is_none():
    """A message without a path names no value."""
    assert paths.named_in('This is a scenario') is None


def test_shown_path_with_a_long_key_is_short():
    """A path repeats a bounded part of a key."""
    assert len(paths.shown(('x' * 1000,))) < 100
