"""Tests for looking up policy types and creating policies from specs."""

import msgspec
import pytest
from msgspec import Struct

from placement_worker.contract import codec
from placement_worker.contract.model import Binding, Spec
from placement_worker.errors import InvalidSpec, PolicyTypeNotFound
from placement_worker.formats.text import MAX_ITEMS
from placement_worker.policies.registry import Registry
from tests.unit.policies.good_policy import Good


def test_installed_types_are_those_of_the_contract(registry):
    """The installed types are exactly those that the contract lists."""
    assert sorted(registry.types) == [
        'senlin.policy.deletion-1.0',
        'senlin.policy.deletion-1.1',
        'senlin.policy.deletion-1.2',
        'senlin.policy.loadbalance-1.0',
        'senlin.policy.loadbalance-1.1',
        'senlin.policy.loadbalance-1.2',
        'senlin.policy.loadbalance-1.3',
        'senlin.policy.loadbalance-1.4',
        'senlin.policy.region_placement-1.0',
        'senlin.policy.region_placement-1.1',
        'senlin.policy.zone_placement-1.0',
        'senlin.policy.zone_placement-1.1',
    ]


@pytest.mark.parametrize(
    ('version', 'found'),
    [('1.0', True), (1.0, True), (1, True), ('1', True), (1.7, False), ('1.00', False)],
)
def test_version_as_a_number_finds_the_type(registry, version, found):
    """A version may be a string or a number, but it must match exactly."""
    spec = codec.decode(
        {
            'type': 'senlin.policy.zone_placement',
            'version': version,
            'properties': {'zones': [{'name': 'a'}]},
        },
        Spec,
    )

    if found:
        assert registry.policy(spec, '$').name == 'senlin.policy.zone_placement'
    else:
        with pytest.raises(PolicyTypeNotFound):
            registry.policy(spec, '$')


@pytest.mark.parametrize(
    ('given', 'nearest'),
    [
        ('senlin.policy.deletoin-1.1', 'senlin.policy.deletion-1.1'),
        ('senlin.policy.zone', 'senlin.policy.zone_placement-1.1'),
        ('zone_placement', 'senlin.policy.zone_placement-1.1'),
        ('senlin.policy.deletion-3.0', 'senlin.policy.deletion-1.'),
        ('senlin.policy.deletion', 'senlin.policy.deletion-1.2'),
    ],
)
def test_unknown_type_is_refused_with_the_nearest_name(registry, given, nearest):
    """An unknown type is refused with the most similar installed name."""
    with pytest.raises(PolicyTypeNotFound) as refused:
        registry.lookup(given, '$.spec')

    assert str(refused.value).startswith(
        f'Policy type `{given}` is not installed - at `$.spec` (did you mean `{nearest}'
    )


@pytest.mark.parametrize(
    ('at', 'remedy'),
    [
        ('$.policies[0].spec', '; install its package on the workers, or disable the policy'),
        ('$.policy.spec', '; install its package on the workers'),
        ('$.spec', ''),
        ('$.type_name', ''),
    ],
)
def test_unknown_type_of_a_cluster_is_refused_with_a_remedy(at, remedy):
    """The error says how the cluster can be scaled again after its type was removed."""
    with pytest.raises(PolicyTypeNotFound) as refused:
        Registry([]).lookup('acme.policy.gone-1.0', at)

    assert str(refused.value) == (
        f'Policy type `acme.policy.gone-1.0` is not installed - at `{at}`; there are: none{remedy}'
    )


def test_skipped_type_is_refused_with_the_reason():
    """A test of a policy sees why its class does not fit, although it does not see the log."""
    registry = Registry([('test.good-2.0', Good)])

    with pytest.raises(PolicyTypeNotFound) as refused:
        registry.lookup('test.good-2.0', '$.policies[0].spec')

    assert str(refused.value) == (
        'Policy type `test.good-2.0` was skipped: its class defines test.good, so its entry points '
        'must be named test.good-1.0 - at `$.policies[0].spec`'
    )


class RaisingProperties(Struct, frozen=True):
    def __post_init__(self):
        raise KeyError('x')


class ComparingProperties(Struct, frozen=True):
    def __post_init__(self):
        int(self)


def test_policy_with_properties_that_raise_a_type_error_names_the_plugin():
    """A bug in the rules of a plugin is not an error of the spec: they raise `ValueError`."""
    kind = type('Variant', (Good,), {'interface': (2, 0), 'versions': {'1.0': ComparingProperties}})

    with pytest.raises(TypeError, match=r'^int\(\) argument must be') as raised:
        Registry([('test.good-1.0', kind)]).policy(Spec(Good.name, '1.0'), '$')

    assert raised.value.__notes__ == [f'in test.good-1.0, a plugin of {kind.__module__}']


class Raising(Good):
    interface = (2, 0)

    def __init__(self, properties):
        raise KeyError('x')


@pytest.mark.parametrize(
    'attributes', [{'versions': {'1.0': RaisingProperties}}, {'__init__': Raising.__init__}]
)
def test_policy_of_a_class_that_fails_names_the_plugin(attributes):
    """An unexpected error in the properties or the constructor of a plugin names the plugin."""
    kind = type('Variant', (Good,), {'interface': (2, 0), **attributes})

    with pytest.raises(KeyError) as raised:
        Registry([('test.good-1.0', kind)]).policy(Spec(Good.name, '1.0'), '$')

    assert raised.value.__notes__ == [f'in test.good-1.0, a plugin of {kind.__module__}']


def test_detachable_policy_of_a_class_that_fails_names_the_plugin():
    """So does the constructor of a policy that is detached without properties."""
    binding = Binding('p', Spec(Good.name, '2.0'))

    with pytest.raises(KeyError) as raised:
        Registry([('test.good-1.0', Raising)]).detachable(binding, '$')

    assert raised.value.__notes__ == [f'in test.good, a plugin of {__name__}']


@pytest.mark.parametrize('given', ['senlin.policy', 'senlin.policy.affinity-1.0', '', 'foo'])
def test_unknown_type_without_a_similar_name_lists_the_first_types(registry, given):
    """An unknown type without a similar name is refused with the first types, in a short line."""
    with pytest.raises(
        PolicyTypeNotFound, match=r'; there are: senlin\.policy\.deletion-1\.0, '
    ) as refused:
        registry.lookup(given, '$.spec')

    assert str(refused.value).endswith(f' and {len(registry.types) - MAX_ITEMS} more')


@pytest.mark.parametrize(
    ('kind', 'version', 'properties', 'message'),
    [
        ('zone_placement', '1.0', {}, 'Object missing required field `zones` - at `$.properties`'),
        (
            'zone_placement',
            '1.0',
            {'zones': []},
            'Expected `array` of length >= 1, got `[]` - at `$.properties.zones`',
        ),
        (
            'zone_placement',
            '1.0',
            {'zones': [{'name': 'a', 'wieght': 1}]},
            'Object contains unknown field `wieght`, expected one of `name`, `weight` - at '
            '`$.properties.zones[0]`',
        ),
        (
            'zone_placement',
            '1.0',
            {'zones': [{'name': 'a', 'weight': 0}]},
            'Expected `int` >= 1, got `0` - at `$.properties.zones[0].weight`',
        ),
        (
            'zone_placement',
            '1.0',
            {'zones': [{'name': 'a'}, {'name': 'b'}, {'name': 'a'}]},
            'Expected each name once, got `a` again in `zones[2]` - at `$.properties`',
        ),
        (
            'region_placement',
            '1.0',
            {'regions': [{'name': 'a', 'cap': -2}]},
            'Expected `int` >= -1, got `-2` - at `$.properties.regions[0].cap`',
        ),
        (
            'deletion',
            '1.0',
            {'hook': {}},
            'Object contains unknown field `hook`, expected one of `criteria`, '
            '`destroy_after_deletion`, '
            '`grace_period`, `reduce_desired_capacity`, `hooks` - at `$.properties`',
        ),
        (
            'deletion',
            '1.1',
            {'criteria': 'OLDEST'},
            'Expected one of `OLDEST_FIRST`, `OLDEST_PROFILE_FIRST`, `RANDOM`, `YOUNGEST_FIRST`, '
            'got `OLDEST` - at '
            '`$.properties.criteria`',
        ),
        (
            'deletion',
            '1.1',
            {'hooks': {'type': 'webhook', 'params': {'queue': 'q'}}},
            'Expected `params.url` for hooks of type `webhook`, got none - at `$.properties.hooks`',
        ),
        (
            'deletion',
            '1.1',
            {'hooks': {'timeout': 3}},
            'Expected `params.queue` for hooks of type `zaqar`, got none - at `$.properties.hooks`',
        ),
    ],
)
def test_invalid_properties_are_refused_with_path_and_value(
    registry, kind, version, properties, message
):
    """Invalid properties are refused with path, expectation and value."""
    spec = Spec(f'senlin.policy.{kind}', version, properties)

    with pytest.raises(InvalidSpec) as refused:
        registry.policy(spec, '$')

    assert str(refused.value) == message


EXPERIMENTAL, SUPPORTED = 'EXPERIMENTAL', 'SUPPORTED'
NEW_IN_16_10 = {
    '1.0': [(EXPERIMENTAL, '2016.04'), (SUPPORTED, '2016.10')],
    '1.1': [(SUPPORTED, '2026.11')],
}


@pytest.mark.parametrize(
    ('type_name', 'versions'),
    [
        ('zone_placement-1.0', NEW_IN_16_10),
        ('region_placement-1.0', NEW_IN_16_10),
        ('deletion-1.0', {'1.0': [(SUPPORTED, '2016.04')], '1.1': [(SUPPORTED, '2018.01')]}),
        (
            'loadbalance-1.1',
            {
                '1.0': [(SUPPORTED, '2016.04')],
                '1.1': [(SUPPORTED, '2018.01')],
                '1.2': [(SUPPORTED, '2020.02')],
                '1.3': [(SUPPORTED, '2020.03')],
                '1.4': [(SUPPORTED, '2026.11')],
            },
        ),
    ],
)
def test_support_status_of_every_version_is_that_of_senlin(registry, type_name, versions):
    """Versions of Senlin have the status and release of its documents and of Senlin 16.

    A newer version has the month of its introduction here.
    """
    described = registry.describe(f'senlin.policy.{type_name}')

    found = {
        version: [(one.status, one.since) for one in statuses]
        for version, statuses in described.support_status.items()
    }
    assert found == versions


def test_support_status_that_a_plugin_does_not_declare_is_absent():
    """A type without a support status is described without the key, as by an older worker."""
    described = Registry([('test.good-1.0', Good)]).describe('test.good-1.0')

    assert 'support_status' not in msgspec.to_builtins(described)


@pytest.mark.parametrize(
    ('kind', 'properties'),
    [
        ('zone_placement', {'zones': [{'name': 10**5000}]}),
        ('zone_placement', {'zones': [{'name': 'a', 'weight': 10**5000}]}),
        ('deletion', {'destroy_after_deletion': 10**5000}),
    ],
)
def test_number_with_too_many_digits_is_refused(registry, kind, properties):
    """A number that Python cannot convert to a string is refused as invalid."""
    with pytest.raises(InvalidSpec, match='Expected plain data that JSON can hold'):
        registry.policy(Spec(f'senlin.policy.{kind}', '1.0', properties), '$')


def test_policy_of_an_equal_spec_is_the_same_object(registry):
    """Equal specs of several requests share one policy."""
    one, same, other = (
        registry.policy(Spec('senlin.policy.zone_placement', '1.0', properties), '$.spec')
        for properties in ({'zones': [{'name': name}]} for name in 'aab')
    )

    assert one is same
    assert one is not other
    assert one.type_name == 'senlin.policy.zone_placement-1.0'


def test_policy_of_a_large_spec_is_not_kept(registry):
    """A large spec is validated each time, so that callers cannot fill the memory."""
    zones = [{'name': f'zone-{number}'} for number in range(4096 // 10)]
    spec = Spec('senlin.policy.zone_placement', '1.0', {'zones': zones})

    assert registry.policy(spec, '$.spec') is not registry.policy(spec, '$.spec')


def test_version_without_an_entry_point_is_refused_with_the_remedy():
    """The error does not advise to install a package that is installed."""

    class Several(Good):
        interface = (2, 0)
        versions = {'1.0': Good.versions['1.0'], '1.1': Good.versions['1.0']}

    with pytest.raises(PolicyTypeNotFound) as refused:
        Registry([('test.good-1.0', Several)]).lookup('test.good-1.1', '$.policies[0].spec')

    assert str(refused.value) == (
        'Policy type `test.good-1.1` has no entry point; add it to the package, and install it '
        'again - at `$.policies[0].spec`'
    )
