"""The methods of the contract, called directly."""

import random
import re

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import codec
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.contract.rpc import VERSION
from placement_worker.errors import InvalidRequest, InvalidSpec, PolicyTypeNotFound
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    PolicyConsulted,
    RequestFailed,
    RequestStarted,
)
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests.events import Events
from tests.factories import (
    NOW,
    bind,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.malformed_requests import GOOD
from tests.unit.handlers.conftest import Refusing


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
    ('expires_at', 'late_s'),
    [
        ('2026-01-01T11:59:00Z', '60.0'),
        ('2026-01-01T12:00:00Z', '0.0'),
        ('2026-01-01T12:00:01', ''),
    ],
)
def test_policy_check_after_its_expiry_is_not_decided(endpoints, caplog, expires_at, late_s):
    """An expired request gets no decision, and one line with its delay and possible causes."""
    cluster = {**GOOD['cluster'], 'id': 'c\n1'}

    reply = endpoints.policy_check({**GOOD, 'cluster': cluster, 'expires_at': expires_at})

    expired = {'status': 'ERROR', 'reason': 'Request expired'}
    is_late = bool(late_s)
    assert (reply['action']['data'] == expired, reply['decisions'] == []) == (is_late, is_late)
    texts = [record.getMessage() for record in caplog.records if record.levelname == 'WARNING']
    if is_late:
        cause, outcome = texts
        start = rf"Request for cluster 'c\n1' expired {late_s} s before a worker began"
        assert cause.startswith(start)
        assert "the caller's clock is behind" in cause
        assert outcome.endswith(': Request expired')


HEAT = {'id': 'pr1', 'type': 'os.heat.stack-1.0'}
DISABLED = zone_policy('a', enabled=False)


@pytest.mark.parametrize(
    ('action', 'policies', 'more', 'reason'),
    [
        ('CLUSTER_CHECK', [zone_policy('a')], {}, None),
        ('NODE_CHECK', [deletion_policy()], {'node': node(1)}, None),
        ('NODE_CREATE', [zone_policy('a')], {'node': node(2), 'profile': HEAT}, None),
        ('CLUSTER_SCALE_IN', [DISABLED, deletion_policy()], {}, 'No trust, no cloud.'),
    ],
    ids=['unhandled', 'of a node', 'unsupported profile', 'consulted, but calls no cloud'],
)
def test_policy_check_needs_credentials_if_a_policy_is_consulted(
    registry, action, policies, more, reason
):
    """Refused credentials fail exactly the checks that consult a policy; the data are kept."""
    asked = request(action, policies, [node(1)], data={'kept': 1}, **more)

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    status = 'ERROR' if reason else 'OK'
    expected = {'status': status, 'reason': reason or 'Completed policy checking.'}
    assert reply['action']['data'] == {'kept': 1, **expected}
    assert [d['outcome'] for d in reply['decisions']] == ([] if reason else ['SKIPPED'])


def test_policy_validate_fills_in_defaults(endpoints):
    """A valid spec is returned with its defaults filled in."""
    answer = endpoints.policy_validate({'spec': zone_policy('a')['spec']})

    assert answer == {'spec': zone_policy(('a', 100))['spec']}
    assert endpoints.policy_validate(answer) == answer
    deletion = {'spec': deletion_policy()['spec'], 'check_resources': True}
    assert endpoints.policy_validate(deletion)


@pytest.mark.parametrize(
    ('policy', 'text'),
    [
        (zone_policy(('a', 0)), 'got `0` - at `$.spec.properties.zones[0].weight`'),
        (
            zone_policy('x', 'a', 'down'),
            'The cloud has no usable availability zone "x", "down"; usable: "a"',
        ),
        (region_policy('R1', 'R8', 'R9'), 'The cloud has no usable region "R8"'),
    ],
)
def test_policy_validate_names_wrong_properties_and_unknown_places(endpoints, policy, text):
    """The error names the property that does not fit, or every place that the cloud lacks."""
    with pytest.raises(InvalidSpec, match=re.escape(text)):
        endpoints.policy_validate({'spec': policy['spec'], 'check_resources': True})


def test_policy_type_list_and_get_return_types_and_schema(endpoints, registry):
    """Types are listed by name; a single one has the JSON Schema of its properties."""
    listed = endpoints.policy_type_list({})
    shown = endpoints.policy_type_get({'type_name': 'senlin.policy.deletion-1.1'})

    assert [one['name'] for one in listed] == sorted(registry.types)
    assert 'schema' not in listed[0]
    properties = shown['schema']['$defs']['DeletionProperties']['properties']
    assert properties['criteria']['default'] == 'RANDOM'
    with pytest.raises(PolicyTypeNotFound, match=r'nothing-1\.0'):
        endpoints.policy_type_get({'type_name': 'nothing-1.0'})


def test_get_capabilities_returns_version_process_and_types(endpoints):
    """The capabilities name the version, the process and the policy types."""
    answer = endpoints.get_capabilities('{}')

    capabilities = msgspec.json.decode(answer)
    assert capabilities['contract'] == VERSION
    assert capabilities['started_at'] == '2026-01-01T12:00:00Z'


class Record:
    def __init__(self):
        self.begun, self.ended = [], []

    def __call__(self, method, request, request_id, conditions, decide):
        self.begun.append((request_id, conditions.now))
        reply = decide(conditions)
        self.ended.append((method, request, reply))
        return reply


@pytest.fixture
def events():
    return Events()


@pytest.fixture
def recorder():
    return Record()


@pytest.fixture
def recording(registry, events, recorder):
    settings = WorkerSettings(events=events, recorder=recorder, now=lambda: NOW)
    return Endpoints(Inventory(), registry, settings)


def check_of(members, **inputs):
    raw = request('CLUSTER_SCALE_IN', [deletion_policy()], members, inputs=inputs)
    return msgspec.convert(raw, CheckRequest)


def test_decision_is_reported_and_recorded(recording, recorder, events):
    """The record begins before the decision, and ends with method, request and reply."""
    check, binding = check_of(nodes(a=2), cuont=1), bind(deletion_policy())

    reply = recording.policy_check(check, 'req-1')
    bound = recording.policy_attach(binding, None)

    kinds = [type(event) for event in events.received[:3]]
    assert kinds == [RequestStarted, PolicyConsulted, CheckEnded]
    assert events.received[2].reply is reply
    assert any('"cuont" (did you mean "count"?)' in warning for warning in reply.warnings)
    assert recorder.begun == [('req-1', NOW), (None, NOW)]
    assert recorder.ended == [
        ('policy_check', check, reply),
        ('policy_attach', msgspec.convert(binding, BindRequest), msgspec.convert(bound, BindReply)),
    ]


def test_check_of_an_invalid_cluster_is_neither_reported_nor_recorded(recording, recorder, events):
    """A request that breaks a rule is refused before anything happens."""
    with pytest.raises(InvalidRequest):
        recording.policy_check(check_of([node(1), node(1)]), None)

    assert ([type(event) for event in events.received], recorder.begun) == ([RequestFailed], [])


@pytest.mark.parametrize(
    ('version', 'label'), [('1.1', 'senlin.policy.deletion-1.1'), ('9.9', 'senlin.policy.deletion')]
)
def test_detach_is_labeled_with_an_installed_type(recording, events, version, label):
    """A version that a caller invents does not become the label of a metric."""
    reply = recording.policy_detach(bind(deletion_policy(version=version)), None)

    assert reply['status'] == 'OK'
    started, ended = events.received
    assert (type(started), type(ended)) == (RequestStarted, BindingEnded)
    assert (started.method, ended.policy_type) == ('policy_detach', label)
