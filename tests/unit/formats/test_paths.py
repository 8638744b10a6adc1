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
    """A path that a message shows, with a bounded part of each key, is found in the message."""
    assert paths.path_text(path) == text
    assert paths.named_in(f'Expected `int` - at `{text}`; correct the file') == path
    assert len(paths.path_text((*path, 'x' * 1000))) < 120


@pytest.mark.parametrize(
    ('message', 'path'),
    [
        ('Expected `int` - at `$.action.data[...].count`', ('action', 'data')),
        ('This is a scenario', None),
    ],
)
def test_named_path_ends_before_a_key_that_is_not_spelled_out(message, path):
    """The path of a value in a free-form map leads to the map; a message may have none."""
    assert paths.named_in(message) == path
