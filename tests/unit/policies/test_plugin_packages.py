"""Tests for types of several packages, and for packages that cannot be imported."""

import sys
import threading
from importlib import metadata

import msgspec
import pytest
from stevedore import extension

from placement_worker.contract.model import Package
from placement_worker.policies import plugin_packages, plugins
from placement_worker.policies.plugin_packages import NAMESPACE
from placement_worker.policies.registry import Registry
from tests.unit.policies.good_policy import Good

LOGGED = threading.Event()
"""Set once the log has named the type whose import is slow."""


class Other(Good):
    interface = (2, 0)


class Named(Good):
    interface = (2, 0)
    name = 'test.other'


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Return a function that installs one type, given the source of its module."""

    def installing(type_name, value, source):
        module, _, _ = value.partition(':')
        (tmp_path / f'{module}.py').write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, module, raising=False)
        entry_point = metadata.EntryPoint(type_name, value, NAMESPACE)
        monkeypatch.setattr(
            extension.ExtensionManager, 'list_entry_points', lambda _manager: [entry_point]
        )

    return installing


def test_checked_type_of_two_packages_is_skipped(caplog):
    """No class is used if packages provide a type with different ones; other types stay."""
    problem = 'several packages provide it with different classes; uninstall all but one'
    found = [('test.good-1.0', Good), ('test.good-1.0', Other), ('test.other-1.0', Named)]

    types, skipped = plugins.checked(found)

    assert (sorted(types), skipped) == (['test.other-1.0'], {'test.good-1.0': problem})
    assert caplog.messages == [f'Skipped policy type test.good-1.0: {problem}']


def test_checked_same_class_of_two_packages_is_accepted(caplog):
    """A renamed package may be installed beside its predecessor, with the same module."""
    found = [('test.good-1.0', Good), ('test.good-1.0', Good)]

    assert plugins.checked(found) == ({'test.good-1.0': Good}, {})
    assert caplog.messages == []


@pytest.mark.parametrize('first', [True, False])
def test_checked_plugin_with_a_built_in_name_does_not_replace_the_class(registry, caplog, first):
    """A plugin cannot replace a type of this package, nor prevent its use."""
    name, own = next(iter(registry.types.items()))
    found = [(name, own), (name, Good)] if first else [(name, Good), (name, own)]

    assert plugins.checked(found) == ({name: own}, {})
    assert caplog.messages == [
        f'Policy type {name} from package placement-worker: only the class of placement-worker is '
        'used; rename the type in the other package'
    ]


@pytest.mark.parametrize(
    ('source', 'error', 'hint'),
    [
        ('from placement_worker.policies.base import Bond', "cannot import name 'Bond'", True),
        ('import placement_worker.model', "No module named 'placement_worker.model'", True),
        ('import no_such_module', "No module named 'no_such_module'", False),
        ('1 / 0', 'ZeroDivisionError: division by zero (', False),
        ('assert False, "x"', 'AssertionError: x', False),
        ('import sys; sys.exit(4)', 'SystemExit: 4', False),
    ],
)
def test_installed_class_that_cannot_be_loaded_is_skipped_with_the_cause(
    source, error, hint, install, caplog
):
    """A plugin whose module fails is skipped; the reason explains an upgrade if it may help."""
    install('test.bad-1.0', 'bad_plugin:Bad', source)

    types, skipped = plugins.checked(plugins.installed())

    assert types == {}
    assert skipped['test.bad-1.0'].startswith('bad_plugin:Bad cannot be loaded: ')
    assert error in skipped['test.bad-1.0']
    assert skipped['test.bad-1.0'].endswith('set interface = (2, 0)') == hint
    assert caplog.messages == [f'Skipped policy type test.bad-1.0: {skipped["test.bad-1.0"]}']


def test_installed_class_whose_module_raises_is_skipped_with_file_and_line(monkeypatch, tmp_path):
    """The author of a plugin learns which line of a module fails at its import."""
    path = tmp_path / 'failing_plugin.py'
    path.write_text('\n\nraise RuntimeError("boom")\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    entry_point = metadata.EntryPoint('test.bad-1.0', 'failing_plugin:Bad', NAMESPACE)
    monkeypatch.setattr(
        extension.ExtensionManager, 'list_entry_points', lambda _manager: [entry_point]
    )

    _, skipped = plugins.checked(plugins.installed())

    assert skipped['test.bad-1.0'] == (
        f'failing_plugin:Bad cannot be loaded: RuntimeError: boom ({path}, line 3)'
    )


@pytest.mark.parametrize(
    ('limit_s', 'source', 'is_named'),
    [
        (0.05, f'from {__name__} import LOGGED; LOGGED.wait(30); slow = 1', True),
        (60, 'slow = 1', False),
    ],
    ids=['slow', 'fast'],
)
def test_installed_class_with_a_slow_import_is_named_while_it_lasts(
    limit_s, source, is_named, install, monkeypatch, caplog
):
    """An operator who waits for a worker or a command learns which package delays it."""
    log_slow = plugins._log_slow

    def log_and_set(name):
        log_slow(name)
        LOGGED.set()

    monkeypatch.setattr(plugins, 'SLOW_S', limit_s)
    monkeypatch.setattr(plugins, '_log_slow', log_and_set)
    install('test.slow-1.0', 'slow_plugin:slow', source)
    threads = threading.active_count()

    assert list(plugins.installed()) == [('test.slow-1.0', 1)]
    text = 'Policy type test.slow-1.0 is still being imported after 0.05 s, and delays the start'
    assert caplog.messages == ([text] if is_named else [])
    assert threading.active_count() == threads


def test_origin_of_a_type_names_its_package_or_else_its_module(registry):
    """An error names the package of a plugin; a type of this package needs none."""
    name, own = next(iter(registry.types.items()))

    assert plugin_packages.origin(name, own) == f'in {name}'
    for named in (name, name.rpartition('-')[0]):
        assert plugin_packages.origin(named, Good) == f'in {named}, a plugin of placement-worker'
    assert plugin_packages.origin('test.good-1.0', Good) == (
        f'in test.good-1.0, a plugin of {Good.__module__}'
    )


def test_package_of_a_plugin_has_the_version_that_was_loaded(tmp_path, monkeypatch):
    """A version that is installed later does not hide what a running worker has loaded."""
    folder = tmp_path / 'acme_rails-1.0.dist-info'
    folder.mkdir()
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme-rails\nVersion: 1.0\n')
    (folder / 'entry_points.txt').write_text(f'[{NAMESPACE}]\ntest.good-1.0 = x:Good\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    own = next(iter(Registry.installed().types))

    registry = Registry([('test.good-1.0', Good), *Registry.installed().types.items()])
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme-rails\nVersion: 1.1\n')

    assert registry.describe('test.good-1.0').package == Package('acme-rails', '1.0')
    assert 'package' not in msgspec.to_builtins(registry.describe(own))
