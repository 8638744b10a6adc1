"""Tests for looking up policy types and creating policies from specs."""

from collections.abc import Mapping
from typing import Literal

import pytest
from msgspec import Struct, structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import Binding, Spec, SupportStatus
from placement_worker.errors import InvalidSpec, PolicyTypeNotFound
from placement_worker.formats.text import MAX_ITEMS
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.registry import Registry, normalized
from tests.factories import bind, nodes, request, zone_policy
from tests.unit.policies.good_policy import Good, Properties

IN_1_1 = {'1.0': ['2016.04', '2016.10'], '1.1': ['2026.11']}
SINCE = {
    'deletion': {'1.0': ['2016.04'], '1.1': ['2018.01'], '1.2': ['2026.11']},
    'loadbalance': {
        '1.0': ['2016.04'],
        '1.1': ['2018.01'],
        '1.2': ['2020.02'],
        '1.3': ['2020.03'],
        '1.4': ['2026.11'],
    },
    'region_placement': IN_1_1,
    'zone_placement': IN_1_1,
}


def test_installed_types_and_their_support_status_are_those_of_the_contract(registry):
    """Versions of Senlin have its releases, newer ones the month of their introduction here."""
    names = [f'senlin.policy.{kind}-{version}' for kind in SINCE for version in SINCE[kind]]

    assert sorted(registry.types) == names
    for name in names:
        support = registry.describe(name).support_status
        found = {key: [one.since for one in statuses] for key, statuses in support.items()}
        kind, _, version = name.removeprefix('senlin.policy.').partition('-')
        assert version in found
        assert found.items() <= SINCE[kind].items()
        assert {one[-1].status for one in support.values()} == {'SUPPORTED'}


LISTED = '; there are: senlin.policy.deletion-1.0, '
DISABLE = '; install its package on the workers, or disable the policy'


@pytest.mark.parametrize(
    ('given', 'at', 'hint'),
    [
        ('senlin.policy.deletoin-1.1', '$', ' (did you mean `senlin.policy.deletion-1.1`?)'),
        ('senlin.policy.zone', '$', ' (did you mean `senlin.policy.zone_placement-1.1`?)'),
        ('zone_placement', '$', ' (did you mean `senlin.policy.zone_placement-1.1`?)'),
        ('senlin.policy.deletion-3.0', '$', ' (did you mean `senlin.policy.deletion-1.'),
        ('senlin.policy.deletion', '$', ' (did you mean `senlin.policy.deletion-1.2`?)'),
        # Without a similar name, the first types are listed, in a short line.
        *((name, '$', LISTED) for name in ('senlin.policy', 'senlin.policy.affinity-1.0', '', 'f')),
        # The cluster can be scaled again after its type was removed.
        ('foo', '$.policies[0].spec', DISABLE),
        ('foo', '$.policy.spec', DISABLE.partition(',')[0]),
    ],
)
def test_unknown_type_is_refused_with_a_similar_name_and_a_remedy(registry, given, at, hint):
    """An unknown type is refused with the most similar installed name, or some of the names."""
    with pytest.raises(PolicyTypeNotFound) as refused:
        registry.lookup(given, at)

    text = str(refused.value)
    assert text.startswith(f'Policy type `{given}` is not installed - at `{at}`')
    if hint.startswith('; install'):
        assert text.endswith(hint)
    else:
        assert text.partition('`$`')[2].startswith(hint)
    if LISTED in text:
        assert f' and {len(registry.types) - MAX_ITEMS} more' in text


def test_unknown_type_without_any_installed_says_so():
    """A worker whose types are all skipped lists none."""
    with pytest.raises(PolicyTypeNotFound, match=r'; there are: none$'):
        Registry([]).lookup('acme.policy.gone-1.0', '$.type_name')


class RaisingProperties(Struct, frozen=True):
    def __post_init__(self):
        raise KeyError('x')


class ComparingProperties(Struct, frozen=True):
    def __post_init__(self):
        int(self)


def raising(_policy, _properties):
    raise KeyError('x')


@pytest.mark.parametrize(
    ('attributes', 'is_detached'),
    [
        ({'versions': {'1.0': RaisingProperties}}, False),
        ({'versions': {'1.0': ComparingProperties}}, False),
        ({'__init__': raising}, False),
        ({'__init__': raising}, True),
    ],
)
def test_policy_of_a_class_that_fails_names_the_plugin(attributes, is_detached):
    """An unexpected error in the properties or the constructor, also of a policy that is detached
    without properties, is no error of the spec.
    """
    kind = type('Variant', (Good,), {'interface': (2, 0), **attributes})
    registry, spec = Registry([('test.good-1.0', kind)]), Spec(Good.name, '1.0')
    create, given = registry.policy, spec
    if is_detached:
        create, given = registry.detachable, Binding('p', structs.replace(spec, version='2.0'))

    with pytest.raises((KeyError, TypeError), match=r"^'x'|^int\(\) argument must be") as raised:
        create(given, '$')

    name = Good.name if is_detached else 'test.good-1.0'
    assert raised.value.__notes__ == [f'in {name}, a plugin of {kind.__module__}']


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


def test_types_are_sorted_by_the_numbers_of_their_versions():
    """Version 1.10 is newer than 1.9: in lists, in the support status and as a suggestion."""
    versions = ['1.0', '1.9', '1.10', '2.0', '10.0']
    status = [SupportStatus('SUPPORTED', '2026.11')]
    attributes = {
        'interface': (2, 0),
        'versions': dict.fromkeys(versions, Properties),
        'support_status': dict.fromkeys(sorted(versions), status),
    }
    several = type('Several', (Good,), attributes)
    names = [f'test.good-{one}' for one in versions]

    registry = Registry((name, several) for name in sorted(names))

    worker = Endpoints(Inventory(), registry)
    assert [one['name'] for one in worker.policy_type_list({})] == names
    assert worker.get_capabilities({})['policy_types'] == names
    assert list(registry.describe('test.good-1.0').support_status) == versions
    with pytest.raises(PolicyTypeNotFound, match=r'did you mean `test\.good-10\.0`'):
        registry.lookup('test.good', '$')


CLOUD = Inventory.parse({'zones': {'az1': True}}, 'the test')
TEXT = 'Policy type test.good-1.0 is {} since 2026.11; use another version or another type'


def registry_of(*statuses):
    support = {'1.0': [SupportStatus(one, '2026.11') for one in statuses]}
    versions = dict.fromkeys(('1.0', '1.1'), Properties)
    attributes = {'interface': (2, 0), 'versions': versions, 'support_status': support}
    old = type('Old', (Good,), attributes)
    return Registry([('test.good-1.0', old), ('test.good-1.1', old)])


def policy(version):
    return {'id': 'p', 'spec': {'type': Good.name, 'version': version}}


@pytest.mark.parametrize(
    ('statuses', 'version', 'warned'),
    [
        *((['SUPPORTED', status], '1.0', [status]) for status in ('DEPRECATED', 'UNSUPPORTED')),
        # Only the newest status of the version that a spec names counts.
        (['DEPRECATED'], '1.1', []),
        (['EXPERIMENTAL', 'SUPPORTED'], '1.0', []),
        ([], '1.0', []),
    ],
)
def test_binding_to_a_deprecated_version_alone_is_a_warning(statuses, version, warned):
    """A check and an attachment warn of the version; a detachment, which is advised, does not."""
    registry = registry_of(*statuses)
    worker, binding = Endpoints(CLOUD, registry), bind(policy(version))
    asked = request('CLUSTER_SCALE_OUT', [policy(version)], nodes(az1=1))
    warnings = [TEXT.format(status) for status in warned]

    assert worker.policy_check(asked)['warnings'] == warnings
    assert worker.policy_attach(binding)['warnings'] == warnings
    assert not worker.policy_detach(binding).get('warnings')
    assert InProcessCaller(CLOUD, registry).policy_check(asked).warnings == warnings


def test_value_that_senlin_changes_is_a_warning_and_an_error_in_a_new_spec(registry):
    """Stored specs keep their meaning in checks, rebalances and attachments, with a warning."""
    worker, changing = Endpoints(CLOUD, registry), zone_policy(('az1', 2.5), (False, 3))
    asked = request('CLUSTER_SCALE_OUT', [changing, {**changing, 'id': 'p2'}], nodes(az1=1))
    text = 'Policy type senlin.policy.zone_placement-1.0 reads `{}` at `$.properties.zones[{}` as '
    expected = [
        text.format(2.5, '0].weight') + '`2`, as Senlin does; correct the spec',
        text.format('false', '1].name') + '`"False"`, as Senlin does; correct the spec',
    ]
    plan = worker.policy_rebalance({key: asked[key] for key in ('cluster', 'policies')})

    for reply in (worker.policy_check(asked), worker.policy_attach(bind(changing)), plan):
        assert [line for line in reply['warnings'] if line.startswith('Policy type')] == expected
    with pytest.raises(InvalidSpec, match=r'^Expected `int`, got `float` - at `\$\.spec\.prop'):
        worker.policy_validate({'spec': changing['spec']})


class Inner(Struct):
    weight: int = 1


class Schema(Struct):
    count: int = 0
    flag: bool = False
    text: str = ''
    optional: str | None = None
    word: Literal['a', '1'] = 'a'
    size: Literal[1, 2] = 1
    inner: Inner | None = None
    inners: list[Inner] = []
    either: int | str = 0
    frozen: tuple[Inner, ...] = ()
    pair: tuple[int, str] = (0, '')
    words: frozenset[str] = frozenset()
    by_name: dict[str, Inner] | None = None
    counts: Mapping[str, int] = {}


@pytest.mark.parametrize(
    ('key', 'raw', 'expected'),
    [
        ('frozen', [{'weight': '3'}], [{'weight': 3}]),
        ('pair', ['3', 3], [3, '3']),
        ('pair', ['3'], [3]),
        ('pair', ['3', 3, 3], [3, '3', 3]),
        ('words', ['a', 5], ['a', '5']),
        ('by_name', {'a': {'weight': '3'}, 'b': 1}, {'a': {'weight': 3}, 'b': 1}),
        ('counts', {'a': '3'}, {'a': 3}),
        ('counts', 3, 3),
        ('count', 7.9, 7),
        ('count', 'seven', 'seven'),
        ('count', float('inf'), float('inf')),
        ('count', '9' * 5000, '9' * 5000),
        ('flag', 'Yes', True),
        ('flag', 'perhaps', 'perhaps'),
        ('flag', None, None),
        ('text', True, 'True'),
        ('text', [1], [1]),
        ('optional', '', None),
        ('optional', 7, '7'),
        ('word', 1, '1'),
        ('size', '1', '1'),
        ('inner', {'weight': '2'}, {'weight': 2}),
        ('inners', [{'weight': '2'}, 'x'], [{'weight': 2}, 'x']),
        ('either', '7', '7'),
        ('unknown', '7', '7'),
    ],
)
def test_value_is_converted_to_the_type_of_its_schema(key, raw, expected):
    """A value is converted as Senlin converts it; a value that cannot be converted stays."""
    assert normalized({key: raw}, Schema) == {key: expected}


@pytest.mark.parametrize(
    ('raw', 'expected'),
    [({'count': None, 'text': None}, {'text': None}), (None, None), ('x', 'x'), ([1], [1])],
)
def test_null_for_an_integer_counts_as_absent_and_other_properties_stay(raw, expected):
    """The default of an integer applies; properties that are no map are left to the decoder."""
    assert normalized(raw, Schema) == expected
