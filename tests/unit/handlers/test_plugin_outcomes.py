"""Tests for the checks of outcomes of plugins: each error names the policy and the value."""

import datetime
import json
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import ClusterPatch, NodePatch
from placement_worker.errors import InvalidSpec, Rejected
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.base import BindingOutcome, Outcome
from placement_worker.policies.registry import Registry
from placement_worker.policies.zone_placement import ZonePlacement
from tests.factories import bind, request, zone_policy
from tests.unit.policies.good_policy import Good

CLOUD = Inventory.parse({'zones': {'a': True}}, 'the test')
GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
ASKED = request('CLUSTER_SCALE_OUT', [GOOD, zone_policy('a')])
NAMED = f'in test.good-1.0, a plugin of {__name__}'
RECURSIVE: dict[str, object] = {}
RECURSIVE['y'] = [RECURSIVE]
DEEP: dict[str, object] = {}
for _ in range(200):
    DEEP = {'y': DEEP}
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def endpoints(registry):
    """Return a function that returns a worker with a plugin whose methods return some values."""

    def start(**values):
        class Writing(Good):
            interface = (2, 0)

            def check(self, request, state):
                return Outcome('APPLIED', 'r', **values)

            def attach(self, request, state):
                return BindingOutcome(**values)

        return Endpoints(CLOUD, Registry([*registry.types.items(), ('test.good-1.0', Writing)]))

    return start


@pytest.mark.parametrize('asked', [ASKED, json.dumps(ASKED)], ids=['data', 'JSON'])
@pytest.mark.parametrize(
    ('values', 'error'),
    [
        (
            {'data': {'placement': {'placements': [{}, {'when': NOW}]}}},
            'data.placement.placements[1].when: datetime is not JSON',
        ),
        ({'data': {'x': ({'y': {1}},)}}, 'data.x[0].y: set is not JSON'),
        ({'data': {'x': uuid.UUID(int=0)}}, 'data.x: UUID is not JSON'),
        ({'data': {'x': float('nan')}}, 'data.x: nan is not JSON'),
        ({'data': {'x': '\ud800'}}, 'data.x: a string with a lone surrogate is not JSON'),
        ({'data': {'x': {1: 2}}}, 'data.x: the key 1 is not a string'),
        ({'data': {'x': [1, RECURSIVE]}}, 'data.x[1].y[0]: dict contains itself'),
        ({'details': DEEP}, f'details{".y" * 100}: more than 100 maps and lists inside each other'),
        ({'details': {'x': object()}}, 'details.x: object is not JSON'),
        ({'nodes': {'n': NodePatch({'x': b''})}}, 'nodes.n.data.x: bytes is not JSON'),
        ({'nodes': {'n': NodePatch(3)}}, 'Expected `object`, got `int` - at `$.nodes.n.data`'),
        (
            {'nodes': {'n': NodePatch({}, status=3)}},
            'Expected `str | null`, got `int` - at `$.nodes.n.status`',
        ),
        ({'cluster': ClusterPatch({'x': object()})}, 'cluster.data.x: object is not JSON'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_value_that_json_changes_or_cannot_hold_names_policy_and_path(
    endpoints, asked, values, error
):
    """A value of a plugin that is not plain data is an error with its type, package and path."""
    with pytest.raises((TypeError, ValueError)) as raised:
        endpoints(**values).policy_check(asked)

    assert (str(raised.value), raised.value.__notes__) == (error, [NAMED])


def test_policy_that_ends_the_process_is_an_error_that_names_it(registry):
    """A policy that calls sys.exit neither ends the process nor hides which policy it was."""

    class Ending(Good):
        interface = (2, 0)

        def check(self, request, state):
            sys.exit()

    worker = Endpoints(CLOUD, Registry([*registry.types.items(), ('test.good-1.0', Ending)]))

    with pytest.raises(RuntimeError, match=r'must not end the process') as raised:
        worker.policy_check(ASKED)

    assert raised.value.__notes__ == [NAMED]


def raising(error):
    """Return a good policy type whose methods raise an error."""

    def fail(*_args):
        raise error

    class Raising(Good):
        interface = (2, 0)
        check = attach = detach = fail

    return Raising


def test_rejection_without_a_reason_names_the_policy(registry):
    """A policy that rejects an action with an empty text does not leave the reply without one."""
    types = [*registry.types.items(), ('test.good-1.0', raising(Rejected('')))]
    worker = Endpoints(CLOUD, Registry(types))
    reason = f'A policy gave no reason for its rejection ({NAMED})'

    checked = worker.policy_check(ASKED)

    assert checked['action']['data']['reason'] == checked['decisions'][0]['reason'] == reason
    assert worker.policy_attach(bind(GOOD))['reason'] == reason


@pytest.mark.parametrize('method', ['policy_check', 'policy_attach', 'policy_detach'])
def test_refusal_of_a_plugin_names_it(registry, method):
    """A request may have several policies, so the text of a refusal names the one that raised."""
    types = [*registry.types.items(), ('test.good-1.0', raising(InvalidSpec('Wrong zone')))]
    call = getattr(Endpoints(CLOUD, Registry(types)), method)
    asked = ASKED if method == 'policy_check' else bind(GOOD)

    with pytest.raises(InvalidSpec) as raised:
        call(asked)

    assert str(raised.value) == f'Wrong zone ({NAMED})'


def test_values_that_json_holds_are_kept(endpoints):
    """A plugin may write any plain data, also numbers above 64 bits."""
    data = {'x': [None, True, 1, 2**70, 1.5, 'é', {'y': {}}]}

    reply = endpoints(data=data, details=data).policy_check(ASKED)

    assert reply['action']['data']['x'] == reply['decisions'][0]['details']['x'] == data['x']


def test_attach_with_a_value_that_is_not_plain_names_policy_and_path(endpoints):
    """The data of a binding must be plain data, too."""
    with pytest.raises(TypeError, match=r'^data\.x: datetime is not JSON') as raised:
        endpoints(data={'x': NOW}).policy_attach(bind(GOOD))

    assert raised.value.__notes__ == [NAMED]


@pytest.mark.parametrize(
    ('data', 'error'),
    [
        ({'creation': 3}, 'Expected `object`, got `3` - at `$.action.data.creation`'),
        ({'deletion': None}, 'Expected `object`, got `null` - at `$.action.data.deletion`'),
        (
            {'creation': {'count': 'three'}},
            'Expected `int`, got `"three"` - at `$.action.data.creation.count`',
        ),
        (
            {'creation': {'zones': {'a': -1}}},
            'Expected `int` >= 0, got `-1` - at `$.action.data.creation.zones.a`',
        ),
        (
            {'creation': {'nodes': 'n1'}},
            'Expected `array`, got `"n1"` - at `$.action.data.creation.nodes`',
        ),
        (
            {'deletion': {'places': [3]}},
            'Expected `object` with `region_name`, got `3` - at `$.action.data.deletion.places[0]`',
        ),
    ],
)
def test_invalid_creation_or_deletion_of_a_plugin_names_the_policy(endpoints, data, error):
    """The policy that wrote an invalid plan fails, and not a later one that reads it."""
    reply = endpoints(data=data).policy_check(ASKED)

    assert [one['outcome'] for one in reply['decisions']] == ['FAILED']
    named = NAMED.removeprefix('in ')
    assert reply['action']['data']['reason'] == f'{named}, wrote invalid data: {error}'


def test_invalid_creation_of_the_request_does_not_name_a_plugin_that_keeps_it(endpoints):
    """A plugin is not to blame for an invalid plan that the engine sent."""
    sent = {'creation': {'count': 'three'}}
    asked = request('CLUSTER_SCALE_OUT', [GOOD, zone_policy('a')], data=sent)

    reply = endpoints(data={**sent, 'x': 1}).policy_check(asked)

    assert [one['outcome'] for one in reply['decisions']] == ['APPLIED', 'FAILED']


@pytest.mark.parametrize('outcome', ['APPLIED', 'SKIPPED'])
def test_decision_without_a_reason_is_an_error_that_names_the_plugin(outcome):
    """An operator always learns why a policy decided."""

    class Silent(Good):
        interface = (2, 0)

        def check(self, request, state):
            return Outcome(outcome, ' ')

    worker = Endpoints(CLOUD, Registry([('test.good-1.0', Silent)]))

    with pytest.raises(TypeError, match='reason must not be empty') as raised:
        worker.policy_check(request('CLUSTER_SCALE_OUT', [GOOD]))

    assert raised.value.__notes__ == [NAMED]


@pytest.mark.parametrize('method', ['policy_check', 'policy_attach', 'policy_detach'])
def test_policy_that_raises_another_base_exception_fails_alone(method):
    """Each method names the policy; Ctrl-C reaches the main thread of a process only."""
    registry = Registry([('test.good-1.0', raising(KeyboardInterrupt()))])
    call = getattr(Endpoints(CLOUD, registry), method)
    asked = request('CLUSTER_SCALE_OUT', [GOOD]) if method == 'policy_check' else bind(GOOD)

    with ThreadPoolExecutor() as pool:
        error = pool.submit(call, asked).exception()

    assert isinstance(error, RuntimeError)
    assert str(error) == 'A policy must not end the process; it raised KeyboardInterrupt()'
    assert error.__notes__ == [NAMED]
    with pytest.raises(KeyboardInterrupt):  # the user of a command
        call(asked)


def test_end_of_the_process_in_a_built_in_policy_is_not_an_error_of_the_policy(monkeypatch):
    """Policies of this package do not end the process, so a signal handler did."""

    def terminate(*_args):
        raise SystemExit(143)

    monkeypatch.setattr(ZonePlacement, 'check', terminate)
    worker = Endpoints(CLOUD, Registry([('senlin.policy.zone_placement-1.0', ZonePlacement)]))

    with pytest.raises(SystemExit):
        worker.policy_check(request('CLUSTER_SCALE_OUT', [zone_policy('a')]))


def test_further_keys_of_an_entry_written_after_zone_placement_reach_the_engine(registry):
    """A policy can tell the engine more about each new node than its place."""

    class Racks(Good):
        interface = (2, 0)
        priority = 350

        def check(self, request, state):
            (entry,) = state.data['placement']['placements']
            plan = {'zones': {'a': 1}}
            data = state.action_data.planned('creation', 1, plan, [{**entry, 'rack': 'r7'}])
            return Outcome('APPLIED', 'r', data=data)

    worker = Endpoints(CLOUD, Registry([*registry.types.items(), ('test.good-1.0', Racks)]))

    reply = worker.policy_check(ASKED)

    assert reply['action']['data']['placement']['placements'] == [{'zone': 'a', 'rack': 'r7'}]
