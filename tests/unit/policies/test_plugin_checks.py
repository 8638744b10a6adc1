"""Policy types of other packages: which ones are used, and which of their mistakes are errors."""

import copy
import datetime
import sys
from importlib import metadata

import msgspec
import pytest
from msgspec import Struct
from stevedore import extension

from placement_worker import testing
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import ClusterPatch, NodePatch, Package
from placement_worker.errors import InvalidSpec, Rejected, WorkerFailed
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.handlers.service import Endpoints
from placement_worker.policies import base, plugin_checks
from placement_worker.policies.base import BindingOutcome, Outcome
from placement_worker.policies.registry import Registry
from placement_worker.policies.zone_placement import ZonePlacement
from tests.factories import bind, nodes, region_policy, request, zone_policy
from tests.unit.policies.good_policy import Good, Properties

CLOUD = Inventory.parse({'zones': {'a': True}}, 'the test')
GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
ASKED = request('CLUSTER_SCALE_OUT', [GOOD, zone_policy('a')], nodes(a=1))
NAMED = f'in test.good-1.0, a plugin of {__name__}'
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
RECURSIVE: dict[str, object] = {}
RECURSIVE['y'] = [RECURSIVE]


class Mutable(Struct):
    size: int = 1


class Undated(Good):
    pass


class Undecided(base.Policy):
    interface = (2, 0)
    name = 'test.good'
    versions = {'1.0': Properties}
    targets = Good.targets


def variant(**attributes):
    names = {'interface': (2, 0), '__module__': __name__, **attributes}
    return type('Variant', (Good,), names)


def returning(outcome):
    """Return a policy type whose methods return or raise a given object."""

    def method(*_args):
        if isinstance(outcome, BaseException):
            raise copy.copy(outcome)
        return outcome

    return variant(check=method, attach=method, detach=method, check_resources=method)


def worker(policy, *others):
    return Endpoints(CLOUD, Registry([('test.good-1.0', policy), *others]))


NO_POLICY = 'it must be a subclass of placement_worker.policies.base.Policy'
WRONG = 'an attribute of its class has a wrong type: '
FROZEN = 'the properties of version 1.0 must be a Struct with frozen=True'
NAME = 'its class defines test.good, so its entry points must be named test.good-1.0'
SUPPORTED = 'this worker supports 2.0'


@pytest.mark.parametrize(
    ('plugin', 'problem'),
    [
        (object, NO_POLICY),
        ('a string', NO_POLICY),
        (Undecided, 'it must define priority, check'),
        (Undated, 'its class must define interface'),
        (variant(interface=(1, 2)), f'it implements plugin interface 1.2, {SUPPORTED}'),
        (variant(interface=(2, 1)), f'it implements plugin interface 2.1, {SUPPORTED}'),
        (variant(interface=(3, 0)), f'it implements plugin interface 3.0, {SUPPORTED}'),
        (variant(priority='high'), f'{WRONG}Expected `int`, got `str` - at `$.priority`'),
        (variant(after='x'), f'{WRONG}Expected `array`, got `str` - at `$.after`'),
        (
            variant(targets=frozenset({('DURING', 'NODE_CREATE')})),
            f"{WRONG}Invalid enum value 'DURING' - at `$.targets[0][0]`",
        ),
        (variant(versions={'1.0': Mutable}), FROZEN),
        (variant(versions={'1.0': dict}), FROZEN),
        (variant(versions={'2.0': Properties}), NAME.replace('-1.0', '-2.0')),
        (variant(name='test.bad'), NAME.replace('test.good', 'test.bad')),
        (variant(name='test'), NAME.replace('test.good', 'test')),
    ],
)
def test_class_that_does_not_fit_the_interface_is_skipped_and_others_stay(plugin, problem, caplog):
    """An operator reads which type is skipped and why, and the other types stay available."""
    name = 'test.good-1.0'

    found = Registry([('test.other-1.0', variant(name='test.other')), (name, plugin)])

    assert (list(found.types), found.skipped) == (['test.other-1.0'], {name: problem})
    assert caplog.messages == [f'Skipped policy type {name}: {problem}']
    with pytest.raises(AssertionError, match='A worker skips policy type') as failed:
        testing.registry_of({name: plugin})
    assert str(failed.value).endswith(f'{name}: {problem}')


def test_class_for_an_earlier_minor_version_is_used(monkeypatch):
    """A worker with a later minor version of the interface still serves older plugins."""
    monkeypatch.setattr(base, 'INTERFACE', (2, 1))

    assert list(Registry([('test.good-1.0', variant())]).types) == ['test.good-1.0']


def test_type_of_several_packages_is_skipped_unless_the_class_is_the_same(caplog):
    """Hosts find packages in different orders, and must not decide by different classes."""
    problem = 'several packages provide it with different classes; uninstall all but one'
    found = [('test.good-1.0', Good), ('test.good-1.0', variant())]

    assert Registry(found).skipped == {'test.good-1.0': problem}
    assert Registry([found[0], found[0]]).skipped == {}


@pytest.mark.parametrize('is_first', [True, False])
def test_plugin_with_a_built_in_name_does_not_replace_the_class(is_first):
    """A package can neither change nor prevent the decisions of a type of this package."""
    name = 'senlin.policy.zone_placement-1.0'
    found = [(name, ZonePlacement), (name, variant(name=ZonePlacement.name))]

    registry = Registry(found if is_first else reversed(found))

    assert (registry.types, registry.skipped) == ({name: ZonePlacement}, {})


@pytest.mark.parametrize(
    ('source', 'cause'),
    [
        ('import no_such_module', "ModuleNotFoundError: No module named 'no_such_module'"),
        ('raise SystemExit(3)', 'SystemExit: 3'),
        ('raise KeyError("x" * 999)', f"KeyError: '{'x' * 280}"),
        ('', "AttributeError: module 'broken_plugin' has no attribute 'Good'"),
    ],
)
def test_module_that_cannot_be_imported_is_skipped_with_the_cause(
    monkeypatch, tmp_path, source, cause
):
    """A module that raises any error leaves the other types to the worker."""
    (tmp_path / 'broken_plugin.py').write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, 'broken_plugin', raising=False)
    entry_point = metadata.EntryPoint(
        'test.good-1.0', 'broken_plugin:Good', plugin_checks.NAMESPACE
    )
    monkeypatch.setattr(extension.ExtensionManager, 'list_entry_points', lambda _: [entry_point])

    skipped = Registry.installed().skipped

    reason = f'broken_plugin:Good cannot be loaded: {cause}'
    assert skipped['test.good-1.0'].startswith(reason)
    assert len(skipped['test.good-1.0']) < 400


def test_package_of_a_plugin_has_the_version_that_was_loaded(tmp_path, monkeypatch, registry):
    """A version that is installed later does not hide what a running worker has loaded."""
    folder = tmp_path / 'acme_rails-1.0.dist-info'
    folder.mkdir()
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme-rails\nVersion: 1.0\n')
    entry_points = f'[{plugin_checks.NAMESPACE}]\nacme.good-1.0 = x:Good\n'
    (folder / 'entry_points.txt').write_text(entry_points)
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin = variant(name='acme.good')

    types = Registry([('acme.good-1.0', plugin), *registry.types.items()])
    (folder / 'METADATA').write_text('Metadata-Version: 2.1\nName: acme-rails\nVersion: 1.1\n')

    assert types.describe('acme.good-1.0').package == Package('acme-rails', '1.0')
    own = types.describe('senlin.policy.deletion-1.0')
    assert 'package' not in msgspec.to_builtins(own)
    assert plugin_checks.from_packages('acme.good-1.0') == ' from package acme-rails'
    assert plugin_checks.from_packages('acme.good') == ' from package acme-rails'
    assert plugin_checks.from_packages('acme.other') == ''


PLAIN = 'must have plain data of its types: '


@pytest.mark.parametrize(
    ('values', 'error'),
    [
        ({'data': {'x': [{'when': NOW}]}}, 'datetime is not JSON'),
        ({'details': {'x': {1}}}, 'set is not JSON'),
        ({'data': {'x': float('nan')}}, 'Out of range float values are not JSON compliant'),
        ({'data': {'x': '\ud800'}}, 'JSON is malformed: unexpected end'),
        ({'data': {'x': RECURSIVE}}, 'Circular reference detected'),
        ({'data': 'x'}, 'Expected `object | null`, got `str` - at `$.data`'),
        ({'reason': 5}, 'Expected `str`, got `int` - at `$.reason`'),
        ({'outcome': 'PASSED'}, "Invalid enum value 'PASSED' - at `$.outcome`"),
        ({'warnings': 'careful'}, 'Expected `array`, got `str` - at `$.warnings`'),
        ({'nodes': {'n1': NodePatch({'x': b''})}}, 'bytes is not JSON'),
        ({'nodes': {'n1': NodePatch({}, status=3)}}, 'Expected `str | null`, got `int`'),
        ({'nodes': {'n1': {'data': {}}}}, 'a patch must not be a dict'),
        ({'cluster': {'data': {}}}, 'a patch must not be a dict'),
        ({'cluster': ClusterPatch({'x': object()})}, 'object is not JSON'),
    ],
)
def test_outcome_with_a_value_that_a_reply_cannot_hold_names_the_policy(values, error):
    """The error names the policy that wrote the value, and not the encoder of the reply."""
    outcome = Outcome(**{'outcome': 'APPLIED', 'reason': 'r', **values})

    with pytest.raises(TypeError) as raised:
        worker(returning(outcome)).policy_check(request('CLUSTER_SCALE_OUT', [GOOD]))

    assert str(raised.value).startswith(f'Outcome {PLAIN}{error}')
    assert raised.value.__notes__ == [NAMED]


@pytest.mark.parametrize(
    ('outcome', 'error'),
    [
        (None, 'test.good returned NoneType, expected a BindingOutcome'),
        (BindingOutcome({'x': NOW}), f'BindingOutcome {PLAIN}datetime is not JSON'),
        (BindingOutcome(None), f'BindingOutcome {PLAIN}Expected `object`, got `null`'),
    ],
)
@pytest.mark.parametrize('method', ['policy_attach', 'policy_detach'])
def test_binding_outcome_is_checked_like_that_of_a_check(method, outcome, error):
    """The data of a binding must be plain data, too."""
    with pytest.raises(TypeError) as raised:
        getattr(worker(returning(outcome)), method)(bind(GOOD))

    assert str(raised.value).startswith(error)
    assert raised.value.__notes__ == [NAMED]


def test_values_that_json_can_hold_reach_the_engine():
    """A plugin may write any plain data, also tuples, read-only maps and numbers above 64 bits."""
    data = {'x': [None, True, 1, 2**70, 1.5, 'é', {'y': (1, 2)}]}
    outcome = Outcome('APPLIED', 'r', data, {'n1': NodePatch({'z': 1})}, ClusterPatch({'c': 1}))

    reply = worker(returning(outcome)).policy_check(request('CLUSTER_SCALE_OUT', [GOOD]))

    assert reply['action']['data']['x'][:-1] == data['x'][:-1]
    assert (reply['nodes']['n1'], reply['cluster']) == ({'data': {'z': 1}}, {'data': {'c': 1}})


AT = '$.action.data'


@pytest.mark.parametrize(
    ('data', 'error'),
    [
        ({'creation': {'count': 'three'}}, f'Expected `int`, got `"three"` - at `{AT}.creation.c'),
        ({'creation': 5}, f'Expected `object`, got `5` - at `{AT}.creation`'),
        ({'deletion': {'candidates': 5}}, f'Expected `array`, got `5` - at `{AT}.deletion.cand'),
        ({'placement': 5}, f'Expected `object`, got `5` - at `{AT}.placement`'),
        (
            {'placement': {'placements': [{'zone': 5}]}},
            f'Expected `str | null`, got `5` - at `{AT}.placement.placements[0].zone`',
        ),
    ],
)
def test_plan_of_a_wrong_form_fails_and_names_the_policy_that_wrote_it(registry, data, error):
    """The policy that wrote an invalid plan fails, and not a later one that reads it."""
    plugin = returning(Outcome('APPLIED', 'r', data))

    reply = worker(plugin, *registry.types.items()).policy_check(ASKED)

    reason = f'{NAMED.removeprefix("in ")}, wrote invalid data: {error}'
    assert reply['action']['data']['reason'].startswith(reason)
    assert [one['outcome'] for one in reply['decisions']] == ['FAILED']


@pytest.mark.parametrize('key', ['creation', 'placement'])
def test_invalid_plan_that_a_plugin_keeps_is_not_its_error(key):
    """A plugin is not to blame for an invalid plan that the engine sent."""
    asked = request('CLUSTER_SCALE_OUT', [GOOD], data={key: 5})

    reply = worker(returning(Outcome('APPLIED', 'r', {key: 5}))).policy_check(asked)

    assert reply['action']['data']['status'] == 'OK'


def test_further_keys_of_an_entry_written_after_zone_placement_reach_the_engine(registry):
    """A policy can tell the engine more about each new node than its place."""

    def check(_self, _request, state):
        (entry,) = state.data['placement']['placements']
        data = state.action_data.planned('creation', 1, {'zones': {'a': 1}}, [{**entry, 'rack': 7}])
        return Outcome('APPLIED', 'r', data=data)

    racks = variant(priority=350, check=check)

    reply = worker(racks, *registry.types.items()).policy_check(ASKED)

    assert reply['action']['data']['placement']['placements'] == [{'zone': 'a', 'rack': 7}]


def placed(entries):
    return {} if entries is None else {'placement': {'placements': entries}}


IN_A, IN_B, IN_R2 = {'zone': 'a'}, {'zone': 'b'}, {'region_name': 'R2'}


@pytest.mark.parametrize(
    ('policy', 'of_request', 'earlier', 'warns'),
    [
        (zone_policy('a', 'b'), None, [IN_A, IN_A], True),
        (zone_policy('a', 'b'), None, [IN_B, IN_A], False),
        (zone_policy('a', 'b'), None, [IN_R2, {}], False),
        (zone_policy('a', 'b'), None, None, False),
        (zone_policy('a', 'b'), [IN_A, IN_A], [IN_A, IN_A], False),
        (zone_policy('a', 'b'), [IN_B, IN_B], [IN_A, IN_A], True),
        (region_policy('R1'), None, [IN_R2], True),
        (region_policy('R1'), None, [{'region_name': 'R1'}], False),
    ],
)
def test_plan_that_replaces_places_of_a_plugin_has_a_warning(
    registry, policy, of_request, earlier, warns
):
    """An operator sees that places of a plugin have no effect; those of an engine may change."""
    cloud = Inventory.parse({'zones': {'a': True, 'b': True}, 'regions': ['R1']}, 'the test')
    plugin = returning(Outcome('APPLIED', 'r', placed(earlier)))
    types = Registry([('test.good-1.0', plugin), *registry.types.items()])
    data, inputs = placed(of_request), {'count': 2}

    reply = Endpoints(cloud, types).policy_check(
        request('CLUSTER_SCALE_OUT', [GOOD, policy], data=data, inputs=inputs)
    )

    level = policy['name'].partition('_')[0]
    replaced = (
        f'{level.capitalize()} placement replaces the {level}s that an earlier policy chose; that '
        f'policy must run after senlin.policy.{level}_placement'
    )
    assert reply['warnings'] == [replaced] * warns


def call(method, plugin):
    spec = {'spec': GOOD['spec'], 'check_resources': True}
    asked = {'policy_check': request('CLUSTER_SCALE_OUT', [GOOD]), 'policy_validate': spec}
    return getattr(worker(plugin), method)(asked.get(method, bind(GOOD)))


@pytest.mark.parametrize(
    'method', ['policy_check', 'policy_attach', 'policy_detach', 'policy_validate']
)
@pytest.mark.parametrize(
    ('raised', 'text', 'notes'),
    [
        (KeyError('zone'), "'zone'", [NAMED]),
        (SystemExit(3), 'A policy must not end the process; it raised SystemExit(3)', [NAMED]),
        # A request may have several policies, so a refusal names the policy in its text.
        (InvalidSpec('Wrong zone'), f'Wrong zone ({NAMED})', []),
    ],
)
def test_error_of_a_plugin_names_it(method, raised, text, notes):
    """Neither an error nor a call of sys.exit hides which policy it was, or ends the process."""
    kind = RuntimeError if isinstance(raised, SystemExit) else type(raised)
    with pytest.raises(kind) as error:
        call(method, returning(raised))

    assert (str(error.value), getattr(error.value, '__notes__', [])) == (text, notes)


def test_rejection_of_a_plugin_is_the_reason_word_for_word():
    """The decision names the policy, so its reason need not; a validation has no decision."""
    rejecting = returning(Rejected('Not now'))

    assert call('policy_check', rejecting)['action']['data']['reason'] == 'Not now'
    assert call('policy_attach', rejecting)['reason'] == 'Not now'
    with pytest.raises(Rejected, match=f'^Not now \\({NAMED}\\)$'):
        call('policy_validate', rejecting)


@pytest.mark.parametrize('error', [SystemExit(143), KeyError('x')])
def test_error_of_a_built_in_policy_names_the_type_and_no_package(monkeypatch, error):
    """Policies of this package do not end the process, so a signal handler did."""

    def fail(*_args):
        raise error

    monkeypatch.setattr(ZonePlacement, 'check', fail)
    name = 'senlin.policy.zone_placement-1.0'

    with pytest.raises(type(error)) as raised:
        Endpoints(CLOUD, Registry([(name, ZonePlacement)])).policy_check(
            request('CLUSTER_SCALE_OUT', [zone_policy('a')])
        )

    expected = [f'in {name}'] if isinstance(error, KeyError) else []
    assert getattr(raised.value, '__notes__', []) == expected


class Listing(Struct, frozen=True):
    words: list[str] = []


@pytest.mark.parametrize(
    'change',
    [
        lambda _, asked, __: asked.cluster.nodes.pop(),
        lambda _, asked, __: asked.cluster.nodes[0].data.update(y=1),
        lambda _, __, state: state.data.update(y=None),
        lambda _, __, state: state.nodes.update(n1=NodePatch({})),
        lambda policy, _, __: policy.properties.words.append(''),
    ],
)
def test_policy_under_test_fails_if_it_changes_what_it_receives(change):
    """An author learns of a change that later policies would see."""

    def check(self, asked, state):
        change(self, asked, state)
        return base.skipped('Nothing to do')

    types = testing.registry_of({'test.good-1.0': variant(versions={'1.0': Listing}, check=check)})

    with pytest.raises(WorkerFailed, match='AssertionError: check must not change what it receive'):
        InProcessCaller(CLOUD, types).policy_check(ASKED)
