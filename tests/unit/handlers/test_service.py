"""The methods of the contract, called directly."""

import math
import random

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract import codec
from placement_worker.contract.model import (
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    NodePatch,
)
from placement_worker.contract.rpc import VERSION
from placement_worker.errors import InvalidRequest, InvalidSpec, PolicyTypeNotFound, Rejected
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    PolicyConsulted,
    RequestFailed,
)
from placement_worker.handlers import service
from placement_worker.handlers.decision_state import Conditions
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.base import BindingOutcome
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.registry import Registry
from tests.events import Events
from tests.factories import NOW, bind, changed, deletion_policy, node, nodes, request, zone_policy
from tests.malformed_requests import GOOD
from tests.unit.handlers.conftest import CLOUD, Refusing
from tests.unit.policies.good_policy import Good


def test_policy_check_replies_in_the_form_of_the_request(endpoints):
    """A JSON string gets a JSON string, plain data get plain data, an object gets an object."""
    plain = endpoints.policy_check(GOOD)
    reply = endpoints.policy_check(codec.decode(GOOD, CheckRequest))

    assert isinstance(plain, dict)
    assert (
        endpoints.policy_check(msgspec.json.encode(GOOD).decode())
        == msgspec.json.encode(plain).decode()
    )
    assert isinstance(reply, CheckReply)
    assert msgspec.to_builtins(reply) == plain


def test_policy_check_ignores_unknown_keys(endpoints):
    """Keys that the contract does not list do not change the reply."""
    extra = changed(GOOD, lambda r: (r.update(dryrun=True), r['cluster'].update(status='ACTIVE')))

    assert endpoints.policy_check(extra) == endpoints.policy_check(GOOD)


def test_policy_check_in_any_order_of_nodes_gives_the_same_reply(endpoints):
    """The order of the nodes does not change a byte of the reply."""
    zones = ['a', 'b', None]
    members = [node(n, zones[n % 3], tainted=n % 11 == 0) for n in range(1, 29)]
    policies = [zone_policy('a', ('b', 200)), deletion_policy('RANDOM')]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 17}, explain='full')
    expected = endpoints.policy_check(msgspec.json.encode(asked).decode())

    for seed in range(1000):
        random.Random(seed).shuffle(asked['cluster']['nodes'])
        assert endpoints.policy_check(msgspec.json.encode(asked).decode()) == expected


def test_policy_check_ignores_a_disabled_policy(endpoints):
    """A disabled policy is ignored, even if its spec is invalid."""
    policies = [zone_policy('a'), {**zone_policy(), 'id': 'other', 'enabled': False}]

    reply = endpoints.policy_check(request('CLUSTER_SCALE_OUT', policies))

    assert [d['outcome'] for d in reply['decisions']] == ['APPLIED']


@pytest.mark.parametrize(
    ('expires_at', 'status'), [('2026-01-01T11:59:59Z', 'ERROR'), ('2026-01-01T12:00:01', 'OK')]
)
def test_policy_check_after_its_expiry_is_not_decided(endpoints, expires_at, status):
    """An expired request gets status ERROR and no decisions."""
    reply = endpoints.policy_check({**GOOD, 'expires_at': expires_at})

    assert reply['action']['data']['status'] == status
    if status == 'ERROR':
        assert reply['action']['data'] == {'status': 'ERROR', 'reason': 'Request expired'}
        assert reply['decisions'] == []


def test_policy_check_after_its_expiry_logs_delay_and_possible_causes(endpoints, caplog):
    """The delay distinguishes a clock that is behind from a long queue, and each record is one
    line.
    """
    cluster = {**GOOD['cluster'], 'id': 'c\n1'}

    endpoints.policy_check({**GOOD, 'cluster': cluster, 'expires_at': '2026-01-01T11:59:00Z'})

    cause, outcome = [record.getMessage() for record in caplog.records]
    assert cause.startswith(r"Request for cluster 'c\n1' expired 60.0 s before a worker began it")
    assert "the caller's clock is behind" in cause
    assert outcome.endswith(': Request expired')


def test_policy_check_with_refused_credentials_gives_the_reason(registry):
    """A refusal by the cloud is the reason of the reply; the data are kept."""
    reply = Endpoints(Refusing(), registry).policy_check(
        changed(GOOD, lambda r: r['action'].update(data={'kept': 1}))
    )

    assert reply['action']['data'] == {
        'kept': 1,
        'status': 'ERROR',
        'reason': 'No trust, no cloud.',
    }


@pytest.mark.parametrize('action', ['CLUSTER_CHECK', 'NODE_CHECK', 'CLUSTER_DELETE'])
def test_policy_check_of_an_unhandled_action_needs_no_cloud(registry, action):
    """An action that no policy handles passes although the cloud refuses access."""
    asked = request(action, [zone_policy('a'), deletion_policy()], [node(1)], node=node(1))

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    assert reply['action']['data'] == {'status': 'OK', 'reason': 'Completed policy checking.'}
    assert [decision['outcome'] for decision in reply['decisions']] == ['SKIPPED', 'SKIPPED']


def test_policy_check_of_an_unsupported_profile_type_needs_no_cloud(registry):
    """A profile type that no policy supports passes although the cloud refuses access."""
    stack = {'id': 'pr1', 'type': 'os.heat.stack-1.0'}
    asked = request('NODE_CREATE', [zone_policy('a')], node=node(1), profile=stack)

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    assert (reply['action']['data']['status'], reply['decisions'][0]['outcome']) == (
        'OK',
        'SKIPPED',
    )


def test_policy_check_with_a_consulted_policy_needs_credentials(registry):
    """Credentials are checked if a policy is consulted, even if it calls no cloud."""
    asked = request(
        'CLUSTER_SCALE_IN', [zone_policy('a', enabled=False), deletion_policy()], [node(1)]
    )

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    assert (reply['action']['data']['reason'], reply['decisions']) == ('No trust, no cloud.', [])


def test_policy_check_notifies_start_and_end(endpoints, outbox):
    """A check is notified at its start and at its end."""
    reply = endpoints.policy_check(GOOD, 'req-1')

    assert outbox.sent == [
        (
            'policy_check.start',
            {
                'request_id': 'req-1',
                'target': 'BEFORE',
                'action': {'id': 'act-1', 'action': 'CLUSTER_SCALE_IN'},
                'cluster': {'id': 'c1'},
            },
        ),
        (
            'policy_check.end',
            {**reply, 'request_id': 'req-1', 'target': 'BEFORE', 'cluster': {'id': 'c1'}},
        ),
    ]


def spec_of(binding):
    return binding['spec']


def test_policy_validate_fills_in_defaults(endpoints):
    """A valid spec is returned with its defaults filled in."""
    answer = endpoints.policy_validate({'spec': spec_of(zone_policy('a'))})

    assert answer == {
        'spec': {
            'type': 'senlin.policy.zone_placement',
            'version': '1.0',
            'properties': {'zones': [{'name': 'a', 'weight': 100}]},
        }
    }
    assert endpoints.policy_validate(answer) == answer


def test_policy_validate_of_an_invalid_spec_names_the_property(endpoints):
    """The error about a spec names the property that does not fit."""
    with pytest.raises(
        InvalidSpec, match=r'got `0` - at `\$\.spec\.properties\.zones\[0\]\.weight`'
    ):
        endpoints.policy_validate({'spec': spec_of(zone_policy(('a', 0)))})


def test_policy_validate_against_the_cloud_names_unknown_zones(endpoints):
    """The error names every listed zone that the cloud lacks."""
    asked = {'spec': spec_of(zone_policy('x', 'a', 'down')), 'check_resources': True}

    with pytest.raises(
        InvalidSpec, match=r'^The cloud has no usable availability zone "x", "down"; usable: "a"'
    ):
        endpoints.policy_validate(asked)


def test_policy_validate_against_the_cloud_names_unknown_regions(endpoints):
    """The error names every listed region that the cloud lacks."""
    spec = {
        'type': 'senlin.policy.region_placement',
        'version': 1,
        'properties': {'regions': [{'name': 'R1'}, {'name': 'R8'}, {'name': 'R9'}]},
    }

    with pytest.raises(InvalidSpec, match=r'^The cloud has no usable region "R8"'):
        endpoints.policy_validate({'spec': spec, 'check_resources': True})


def test_policy_validate_of_a_policy_without_resources_needs_no_cloud(endpoints):
    """A policy that names no resources is valid over any cloud."""
    assert endpoints.policy_validate({'spec': spec_of(deletion_policy()), 'check_resources': True})


def test_policy_type_list_and_get_return_types_and_schema(endpoints, registry):
    """Types are listed by name; a single one has the JSON Schema of its properties."""
    listed = endpoints.policy_type_list({})
    shown = endpoints.policy_type_get({'type_name': 'senlin.policy.deletion-1.1'})

    assert [one['name'] for one in listed] == sorted(registry.types)
    assert 'schema' not in listed[0]
    properties = shown['schema']['$defs']['DeletionProperties']['properties']
    assert properties['criteria']['default'] == 'RANDOM'
    assert set(properties) == {
        'criteria',
        'destroy_after_deletion',
        'grace_period',
        'hooks',
        'reduce_desired_capacity',
    }


def test_policy_type_get_of_an_unknown_type_is_refused(endpoints):
    """A type that is not installed is refused."""
    with pytest.raises(PolicyTypeNotFound, match=r'nothing-1\.0'):
        endpoints.policy_type_get({'type_name': 'nothing-1.0'})


def test_get_capabilities_returns_version_process_and_types(endpoints):
    """The capabilities name the version, the process and the policy types."""
    answer = endpoints.get_capabilities('{}')

    capabilities = msgspec.json.decode(answer)
    assert set(capabilities) == {
        *('version', 'policy_types', 'hostname', 'pid', 'started_at', 'contract', 'host')
    }
    assert capabilities['contract'] == VERSION
    assert capabilities['started_at'] == '2026-01-01T12:00:00Z'


@pytest.mark.parametrize('method', ['policy_attach', 'policy_detach', 'policy_validate'])
def test_internal_error_of_a_policy_names_its_type(method):
    """The error of a policy that fails by mistake names its type, as at a check."""

    class Broken(Good):
        interface = (2, 0)

        def attach(self, request, state):
            raise KeyError('zone')

        detach = attach

        def check_resources(self, cloud):
            raise KeyError('zone')

    endpoints = Endpoints(CLOUD, Registry([('test.good-1.0', Broken)]))
    spec = {'type': 'test.good', 'version': '1.0'}
    binding = {'cluster': GOOD['cluster'], 'policy': {'id': 'p', 'spec': spec}}
    validation = {'spec': spec, 'check_resources': True}

    with pytest.raises(KeyError) as raised:
        getattr(endpoints, method)(validation if method == 'policy_validate' else binding)

    message = f"KeyError: 'zone' (in test.good-1.0, a plugin of {__name__})"
    assert errors.with_notes(raised.value) == message


class Record:
    """A recorder, and the record of its only decision."""

    def __init__(self):
        self.begun, self.ended = [], []

    def begin(self, request_id, conditions):
        self.conditions = conditions
        self.begun.append((request_id, conditions.now))
        return self

    def end(self, method, request, reply):
        self.ended.append((method, request, reply))


@pytest.fixture
def events():
    return Events()


@pytest.fixture
def made(registry, events):
    """Return a function that creates a handler, with a recorder or without one."""

    def create(recorder=None):
        return Endpoints(Inventory(), registry, events, recorder=recorder, now=lambda: NOW)

    return create


def check_of(members, **inputs):
    raw = request('CLUSTER_SCALE_IN', [deletion_policy()], members, inputs=inputs)
    return msgspec.convert(raw, CheckRequest)


def binding_of(**spec):
    policy = deletion_policy()
    return bind({**policy, 'spec': {**policy['spec'], **spec}})


def test_check_reports_start_policies_and_end(made, events):
    """A check is reported when it starts, for each policy, and when it ends."""
    reply = made().policy_check(check_of(nodes(a=2), count=1), 'req-1')

    assert [type(event) for event in events.received] == [CheckStarted, PolicyConsulted, CheckEnded]
    assert events.received[-1].reply is reply


def test_check_with_unknown_input_warns(made):
    """An input that no policy reads leads to a warning in the reply."""
    reply = made().policy_check(check_of(nodes(a=2), cuont=1), None)

    assert any('"cuont" (did you mean "count"?)' in warning for warning in reply.warnings)


def test_check_of_an_invalid_cluster_is_neither_reported_nor_recorded(made, events):
    """A request that breaks a rule is refused before anything happens."""
    recorder = Record()

    with pytest.raises(InvalidRequest):
        made(recorder).policy_check(check_of([node(1), node(1)]), None)

    assert ([type(event) for event in events.received], recorder.begun) == ([RequestFailed], [])


def test_check_with_a_recorder_is_recorded(made):
    """The record begins before the decision, and ends with request and reply."""
    recorder, asked = Record(), check_of(nodes(a=2))

    reply = made(recorder).policy_check(asked, 'req-1')

    assert recorder.begun == [('req-1', NOW)]
    assert recorder.ended == [('policy_check', asked, reply)]


@pytest.mark.parametrize(
    ('version', 'label'),
    [('1.1', 'senlin.policy.deletion-1.1'), ('9.9', 'senlin.policy.deletion')],
)
def test_detach_is_labeled_with_an_installed_type(made, events, version, label):
    """A version that a caller invents does not become the label of a metric."""
    reply = made().policy_detach(binding_of(version=version), None)

    assert reply['status'] == 'OK'
    started, ended = events.received
    assert (type(started), type(ended)) == (BindingStarted, BindingEnded)
    assert (started.method, ended.policy_type) == ('policy_detach', label)


def test_attach_with_a_recorder_is_recorded(made):
    """The record of a binding has the name of its method."""
    recorder, asked = Record(), binding_of()

    reply = made(recorder).policy_attach(asked, None)

    assert recorder.ended == [
        ('policy_attach', msgspec.convert(asked, BindRequest), msgspec.convert(reply, BindReply))
    ]


REQUEST = msgspec.convert(
    bind({**deletion_policy(), 'data': {'kept': 1}}),
    BindRequest,
)
CONDITIONS = Conditions(Inventory(), OctaviaSettings(), 1000, NOW, left_s=lambda: math.inf)


class Scripted(Deletion):
    """Does what its property does."""

    type_name = 'test.scripted-1.0'

    def attach(self, request, state):
        return self.properties()

    def detach(self, request, state):
        return self.properties()


def rejecting():
    raise Rejected('It is locked.', nodes={'n1': NodePatch({'x': 1})})


def failing():
    raise KeyError('zone')


@pytest.mark.parametrize(
    ('act', 'reason'),
    [(service._attach, 'Policy attached.'), (service._detach, 'Policy detached.')],
)
def test_outcome_of_a_policy_is_the_reply(act, reason):
    """The reply has the data and the warnings of the outcome."""
    policy = Scripted(lambda: BindingOutcome({'new': 2}, warnings=['Mind it']))

    reply = act(policy, REQUEST, CONDITIONS)

    assert (reply.status, reply.reason, reply.warnings) == ('OK', reason, ['Mind it'])
    assert reply.policy.data == {'new': 2}


@pytest.mark.parametrize('act', [service._attach, service._detach])
def test_rejection_keeps_the_data_of_the_binding(act):
    """A rejected request keeps the data of the binding, and reports the nodes it changed."""
    reply = act(Scripted(rejecting), REQUEST, CONDITIONS)

    assert (reply.status, reply.reason) == ('ERROR', 'It is locked.')
    assert reply.policy.data == {'kept': 1}
    assert reply.nodes == {'n1': NodePatch({'x': 1})}


@pytest.mark.parametrize('act', [service._attach, service._detach])
def test_internal_error_names_the_policy_type(act):
    """An internal error of a policy is raised with a note that names its type."""
    with pytest.raises(KeyError) as raised:
        act(Scripted(failing), REQUEST, CONDITIONS)

    assert raised.value.__notes__ == [f'in test.scripted-1.0, a plugin of {__name__}']


@pytest.mark.parametrize('act', [service._attach, service._detach])
def test_result_of_a_wrong_type_names_the_policy_type(act):
    """A policy that returns no `BindingOutcome` raises an error that names its type."""
    with pytest.raises(TypeError, match='returned NoneType, expected a BindingOutcome') as raised:
        act(Scripted(lambda: None), REQUEST, CONDITIONS)

    assert raised.value.__notes__ == [f'in test.scripted-1.0, a plugin of {__name__}']


def test_attach_to_an_unsupported_profile_type_is_rejected():
    """A policy cannot be attached to a profile type that it does not support."""
    policy = Scripted(lambda: BindingOutcome({}))
    policy.profile_types = frozenset({'os.heat.stack-1.0'})

    reply = service._attach(policy, REQUEST, CONDITIONS)

    assert reply.status == 'ERROR'
    assert reply.reason.startswith('Policy not applicable on profile type: ')
