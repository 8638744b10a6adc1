"""The cordons of the file that the configuration names."""

import pytest

from placement_worker.errors import ConfigurationError
from placement_worker.worker import cordon_factory
from tests.config_files import default_options
from tests.factories import NOW


def options(path):
    conf = default_options()
    conf.set_override('cordon_file', str(path), group='placement')
    return conf


def test_create_without_a_file_returns_none():
    """By default there are no cordons."""
    assert cordon_factory.create(default_options()) is None


def test_create_with_a_file_returns_its_cordons(tmp_path):
    """The cordons are those of the file at the time of each request."""
    path = tmp_path / 'cordons.yaml'
    path.write_text('- {zone: a, until: "2026-01-02T00:00:00Z"}')

    assert [one.zone for one in cordon_factory.create(options(path)).in_force(NOW)] == ['a']


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (
            None,
            '[placement] cordon_file: Cannot read the cordon file: {path}: No such file or '
            'directory; create it, and write [] for no cordons',
        ),
        (
            '- zone: a',
            '[placement] cordon_file: Invalid cordon file: {path}: Object missing required field '
            '`until` - at `$[0]` (line 1, column 3)',
        ),
    ],
    ids=['missing', 'invalid'],
)
def test_create_with_an_unusable_file_raises_an_error_with_the_remedy(tmp_path, text, message):
    """A worker does not start without the cordons that its operator wants."""
    path = tmp_path / 'cordons.yaml'
    if text is not None:
        path.write_text(text)

    with pytest.raises(ConfigurationError) as raised:
        cordon_factory.create(options(path))

    assert str(raised.value) == message.format(path=path)
