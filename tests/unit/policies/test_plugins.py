"""Tests for loading and validating policy plugins."""

import logging
from importlib import metadata

import pytest
from msgspec import Struct

from placement_worker.policies import base, plugins
from placement_worker.policies.plugin_packages import NAMESPACE
from tests.unit.policies.good_policy import Good, Properties


class Old(Good):
    interface = (1, 2)


class Undated(Good):
    """Inherits the interface of the worker, as plugins for 1.x may."""


class Newer(Good):
    interface = (3, 0)


class Mutable(Struct):
    """Properties that concurrent requests must not share."""


class Never(Good):
    interface = (2, 0)
    targets = base.on('DURING', 'CLUSTER_SCALE_OUT') | base.on(
        base.BEFORE, 'NODE_DANCE', 'CLUSTER_SCALEOUT'
    )


class Nameless(base.Policy):
    interface = (2, 0)
    versions = {'1.0': Properties}

    def check(self, request, state):
        return base.skipped('Nothing to do')


class Undecided(base.Policy):
    interface = (2, 0)
    name = 'test.good'
    versions = {'1.0': Properties}
    priority = 1
    targets = Good.targets


def with_attribute(name, value):
    """Return a good policy type in which one attribute has another value."""
    return type('Variant', (Good,), {'interface': (2, 0), name: value})


UPGRADE = (
    'import placement_worker.contract.model and placement_worker.contract.model instead of '
    'placement_worker.model, rename Bond to BindingOutcome, replace state.driving by '
    'state.cloud.octavia_settings, and set interface = (2, 0)'
)
NO_SCHEMAS = 'versions must map strings to subclasses of msgspec.Struct'
NO_POLICY = 'it must be a subclass of placement_worker.policies.base.Policy'


@pytest.mark.parametrize(
    ('name', 'plugin', 'problem'),
    [
        ('test.bad-1.0', object, NO_POLICY),
        ('test.bad-1.0', 'a string', NO_POLICY),
        (
            'test.good-1.0',
            Old,
            f'it implements plugin interface 1.2, this worker supports 2.0; in {__name__}, '
            f'{UPGRADE}',
        ),
        (
            'test.good-1.0',
            Undated,
            'its class must define interface; if it implements plugin interface 1, in '
            f'{__name__}, {UPGRADE}',
        ),
        (
            'test.good-1.0',
            with_attribute('interface', '2.0'),
            'interface must be a pair of integers, got "2.0"',
        ),
        (
            'test.good-1.0',
            Newer,
            'it implements plugin interface 3.0, this worker supports 2.0; upgrade the worker',
        ),
        (
            'test.good-1.0',
            with_attribute('interface', (2, 1)),
            'it implements plugin interface 2.1, this worker supports 2.0; upgrade the worker',
        ),
        (
            'test.good-1.0',
            Never,
            'targets must be phases of actions of Senlin, got BEFORE CLUSTER_SCALEOUT (did you '
            'mean CLUSTER_SCALE_OUT?), BEFORE NODE_DANCE, DURING CLUSTER_SCALE_OUT',
        ),
        ('test.bad-1.0', Nameless, 'it must define name, priority, targets'),
        ('test.good-1.0', Undecided, 'it must define check'),
        (
            'test.good-1.0',
            with_attribute('versions', {'1.0': dict}),
            f"{NO_SCHEMAS}, got {{'1.0': {dict}}}",
        ),
        (
            'test.good-1.0',
            with_attribute('versions', '1.0'),
            f'{NO_SCHEMAS}, got "1.0"',
        ),
        (
            'test.good-1.0',
            with_attribute('versions', {'1.0': Mutable, '1.1': Properties}),
            'the properties of version 1.0 must be a Struct with frozen=True',
        ),
        (
            'test.good-1.0',
            with_attribute('priority', 'high'),
            'priority must be an integer, got "high"',
        ),
        (
            'test.good-1.0',
            with_attribute('support_status', {'1.0': 'SUPPORTED'}),
            'support_status must be a map of lists of SupportStatus with two strings, a status '
            '(EXPERIMENTAL, SUPPORTED, DEPRECATED or UNSUPPORTED) and a release, got '
            "{'1.0': 'SUPPORTED'}",
        ),
        (
            'test.good-1.0',
            with_attribute('after', 'x'),
            'after must be a frozenset of strings, got "x"',
        ),
        *(
            (
                'test.good-1.0',
                with_attribute(attribute, value),
                f'{attribute} must be a frozenset of {words}, got {value!r}',
            )
            for value in ([], ('x',))
            for attribute, words in (
                ('after', 'strings'),
                ('inputs', 'strings'),
                ('profile_types', 'strings or None'),
                ('targets', 'pairs of phase and action'),
            )
        ),
        (
            'test.good-1.0',
            with_attribute('profile_types', frozenset()),
            'profile_types must not be empty; None stands for all',
        ),
        (
            'test.good-1.0',
            with_attribute('support_status', {'1.0': [], '1.1': []}),
            'support_status has versions that versions lacks: 1.1',
        ),
        (
            'test.good-1.0',
            type('Several', (Good,), {'interface': (2, 0), 'priority': 2.5, 'exclusive': 'yes'}),
            'priority must be an integer, got 2.5; exclusive must be a boolean, got "yes"',
        ),
        (
            'test.good-1.0',
            with_attribute('targets', frozenset()),
            'targets must not be empty',
        ),
        ('test.good-1.0', with_attribute('name', 5), 'name must be a string, got 5'),
        (
            'test.bad',
            Good,
            'its class defines test.good, so its entry points must be named test.good-1.0',
        ),
        (
            'test.bad-1.0',
            Good,
            'its class defines test.good, so its entry points must be named test.good-1.0',
        ),
        (
            'test.good-2.0',
            Good,
            'versions lacks 2.0; add its schema, or remove the entry point',
        ),
        (
            'test.good-1.0',
            with_attribute('name', 'test.good-1.0'),
            'name must not contain the version; set it to test.good',
        ),
    ],
)
def test_checked_broken_plugin_is_skipped_and_others_stay(name, plugin, problem, caplog):
    """A plugin that does not fit the interface is skipped with its reason; the others stay."""
    others = {} if name == 'test.good-1.0' else {'test.good-1.0': Good}

    types, skipped = plugins.checked([(name, plugin), *others.items()])

    assert types == others
    assert skipped == {name: problem}
    assert caplog.record_tuples == [
        (plugins.__name__, logging.ERROR, f'Skipped policy type {name}: {problem}')
    ]


def test_plugin_for_an_earlier_minor_version_is_accepted(monkeypatch):
    """A worker with a later minor version of the interface still serves older plugins."""
    monkeypatch.setattr(base, 'INTERFACE', (2, 3))
    older = with_attribute('interface', (2, 1))

    assert plugins.checked([('test.good-1.0', older)]) == ({'test.good-1.0': older}, {})


def depending(name, *after):
    """Return an entry point of a type that runs after others."""
    attributes = {'interface': (2, 0), 'name': name, 'after': frozenset(after)}
    return f'{name}-1.0', type('Depending', (Good,), attributes)


def test_checked_dependencies_in_a_cycle_are_skipped_with_the_cycle(caplog):
    """Types that depend on each other in a cycle are skipped with a log message; others stay."""
    cycle = [depending('a', 'b'), depending('b', 'c'), depending('c', 'a')]
    others = [depending('own', 'own'), depending('waiting', 'a', 'absent'), depending('free')]

    types, skipped = plugins.checked([*cycle, *others])

    assert sorted(types) == ['free-1.0', 'waiting-1.0']
    assert sorted(skipped) == ['a-1.0', 'b-1.0', 'c-1.0', 'own-1.0']
    logged = [message for _, level, message in caplog.record_tuples if level == logging.ERROR]
    assert [message.partition(': ')[0] for message in logged] == [
        f'Skipped policy type {name}-1.0' for name in ('a', 'b', 'c', 'own')
    ]
    assert logged[3].endswith('after forms a cycle: own, own')
    assert all(
        set(message.rpartition(': ')[2].split(', ')) == {'a', 'b', 'c'} for message in logged[:3]
    )


def test_checked_unknown_name_in_after_logs_a_warning(caplog):
    """A type that runs after a type that is not installed stays, with a warning of the name."""
    found = [depending('a', 'test.zones', 'c', 'test.zones-1.0'), depending('test.zones')]

    assert sorted(plugins.checked(found)[0]) == ['a-1.0', 'test.zones-1.0']
    assert caplog.record_tuples == [
        (
            plugins.__name__,
            logging.WARNING,
            'Policy type a-1.0 runs after types that are not installed: c, test.zones-1.0 (did '
            'you mean test.zones?); check the names in after',
        )
    ]


def test_checked_version_without_an_entry_point_logs_a_warning(caplog):
    """The author learns at start, not from a refused request, that an entry point is missing."""
    three = with_attribute('versions', dict.fromkeys(('1.0', '1.1', '1.2'), Properties))

    types, _ = plugins.checked([('test.good-1.0', three), ('test.good-1.1', three)])

    assert list(types) == ['test.good-1.0', 'test.good-1.1']
    assert caplog.messages == [
        'Policy type test.good has versions without an entry point: 1.2; add it to the package, or '
        'remove the version'
    ]


def test_checked_misspelled_optional_names_log_a_warning(caplog):
    """An optional attribute or method with a misspelled name has no effect, so a warning names it.

    Names of the author's own, and attributes that the class defines as well, cause none.
    """
    own = {'afer': frozenset({'b'}), 'atach': 1, 'windows': 2, 'checks': 3, '_inputs': 4}
    misspelled = type('Misspelled', (Good,), {'interface': (2, 0), **own})

    assert list(plugins.checked([('test.good-1.0', misspelled)])[0]) == ['test.good-1.0']
    assert [message.partition('defines ')[2] for message in caplog.messages] == [
        f'{wrong}, which the plugin interface does not have; did you mean {meant}?'
        for wrong, meant in (('afer', 'after'), ('atach', 'attach'))
    ]


def test_checked_skipped_type_of_an_installed_package_names_the_package(caplog, monkeypatch):
    """The log message for a skipped type names the package that provides it."""
    [installed] = metadata.entry_points(group=NAMESPACE, name='senlin.policy.zone_placement-1.0')

    plugins.checked([(installed.name, object)])

    assert caplog.messages == [
        f'Skipped policy type {installed.name} from package placement-worker: {NO_POLICY}'
    ]


def test_installed_yields_the_types_of_this_package():
    """Every policy type of this package is found through its entry point."""
    own = metadata.distribution('placement-worker').entry_points.select(group=NAMESPACE)

    assert 'senlin.policy.loadbalance-1.3' in own.names
    assert own.names <= dict(plugins.installed()).keys()
