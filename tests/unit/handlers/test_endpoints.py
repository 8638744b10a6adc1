"""The methods of the contract, called directly."""

import datetime
import itertools
import json
import random
import sys

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import actions, codec
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.contract.request_limits import Limits
from placement_worker.contract.rpc import EXCHANGE, VERSION
from placement_worker.errors import (
    CloudUnavailable,
    InvalidRequest,
    InvalidSpec,
    PolicyTypeNotFound,
)
from placement_worker.events.types import (
    BindingEnded,
    BindingStarted,
    CheckEnded,
    CheckStarted,
    RequestFailed,
)
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.messaging.notification_sender import ended, started
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.registry import Registry
from tests.factories import changed, deletion_policy, node, region_policy, request, zone_policy
from tests.malformed_requests import GOOD, REBALANCE_TABLE, TABLE

CLOUD = Inventory.parse({'zones': {'a': True, 'b': True, 'down': False}, 'regions': ['R1']}, 'test')
NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


class Recorder:
    """Listener and delivery that keep notifications and replies."""

    def __init__(self):
        self.sent = []

    def handle(self, event):
        match event:
            case RequestFailed(method, error, request_id):
                self.sent.append((f'{method}.error', type(error).__name__, str(error), request_id))
            case CheckStarted(request, request_id):
                self.sent.append(('policy_check.start', started(request, request_id)))
            case BindingStarted(method, request, request_id):
                self.sent.append((f'{method}.start', started(request, request_id)))
            case CheckEnded(request, reply, _, request_id):
                self.sent.append(('policy_check.end', ended(request, reply, request_id)))
            case BindingEnded(method, request, reply, request_id=request_id):
                self.sent.append((f'{method}.end', ended(request, reply, request_id)))

    def reply(self, to, request_id, reply, left_s):
        self.sent.append(('reply', to.exchange, to.topic, to.method, request_id, reply))


@pytest.fixture
def outbox():
    return Recorder()


@pytest.fixture
def endpoints(registry, outbox):
    return Endpoints(
        CLOUD, registry, outbox, outbox, now=lambda: NOW, clock=itertools.repeat(0.0).__next__
    )


@pytest.mark.parametrize('row', TABLE, ids=lambda row: row.name)
def test_policy_check_with_a_malformed_request_is_refused_in_exact_words(endpoints, outbox, row):
    """A malformed request is refused with the exact class and text, and nothing is done."""
    with pytest.raises(errors.Refused) as refused:
        endpoints.policy_check(row.sent, 'req-1')

    assert (type(refused.value).__name__, str(refused.value)) == (row.error, row.message)
    assert outbox.sent == [('policy_check.error', row.error, row.message, 'req-1')]


@pytest.mark.parametrize('row', REBALANCE_TABLE, ids=lambda row: row.name)
def test_policy_rebalance_with_a_malformed_request_is_refused_in_exact_words(
    endpoints, outbox, row
):
    """A malformed request is refused with the exact class and text."""
    with pytest.raises(errors.Refused) as refused:
        endpoints.policy_rebalance(row.sent, 'req-1')

    assert (type(refused.value).__name__, str(refused.value)) == (row.error, row.message)
    assert outbox.sent == [('policy_rebalance.error', row.error, row.message, 'req-1')]


def test_table_of_malformed_requests_starts_from_a_valid_one(endpoints):
    """The table has at least 60 distinct rows, all changes of a valid request."""
    assert len(TABLE) >= 60
    assert len({row.name for row in TABLE}) == len(TABLE)
    assert endpoints.policy_check(GOOD)['action']['data']['status'] == 'OK'


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


def test_policy_check_above_the_size_limit_is_refused(registry):
    """A request above the size limit is refused in either form."""
    text = msgspec.json.encode(GOOD).decode()
    endpoints = Endpoints(CLOUD, registry, limits=lambda: Limits(request_bytes=len(text) - 1))

    for form in (GOOD, text):
        with pytest.raises(
            InvalidRequest,
            match=f'^Expected at most {len(text) - 1} bytes, got {len(text)} - at `\\$`',
        ):
            endpoints.policy_check(form)


def test_policy_check_with_deeply_nested_input_is_refused(endpoints):
    """Input that is nested too deeply is refused as invalid JSON."""
    depth = sys.getrecursionlimit() * 10
    text = (
        msgspec.json.encode(GOOD)
        .decode()
        .replace('"inputs":{}', '"inputs":{"x":' + '[' * depth + ']' * depth + '}')
    )

    with pytest.raises(InvalidRequest, match=r'^Expected JSON - at `\$`: '):
        endpoints.policy_check(text)


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


class Refusing:
    """Clouds that refuse access."""

    def acting_for(self, credentials, project):
        raise CloudUnavailable('No trust, no cloud.')


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


TO = {'exchange': 'engine', 'topic': 'replies', 'method': 'policy_checked'}


def test_policy_check_with_reply_to_delivers_the_reply(endpoints, outbox):
    """The reply is also delivered to `reply_to`, in the form of the request."""
    text = msgspec.json.encode({**GOOD, 'reply_to': TO}).decode()

    answer = endpoints.policy_check(text, 'req-1')

    assert outbox.sent[-1] == ('reply', 'engine', 'replies', 'policy_checked', 'req-1', answer)


@pytest.mark.parametrize('exchange', ['', 'amq.topic', EXCHANGE])
def test_check_whose_reply_to_is_forbidden_is_refused_before_it_is_decided(
    registry, outbox, caplog, exchange
):
    """A request with a forbidden `reply_to` is logged and counted like other refusals, and gets
    no reply there.
    """
    caplog.set_level('INFO')
    with pytest.raises(errors.InvalidRequest, match=r'at `\$\.reply_to\.exchange`$'):
        Endpoints(CLOUD, registry, outbox, outbox).policy_check(
            {**GOOD, 'reply_to': {**TO, 'exchange': exchange}}, 'req-1'
        )

    assert [event[:2] for event in outbox.sent] == [('policy_check.error', 'InvalidRequest')]
    assert 'policy_check refused: InvalidRequest: ' in caplog.text
    (record,) = [record for record in caplog.records if record.levelname == 'WARNING']
    assert record.getMessage().startswith('Sent no error to reply_to of request req-1: Expected ')


def test_request_that_is_parked_tells_no_forbidden_target(endpoints, outbox):
    """The error that stands for a parked request obeys the same rules as a reply."""
    asked = {**GOOD, 'reply_to': {**TO, 'exchange': EXCHANGE}}

    endpoints.deliver_error(asked, 'req-1', errors.RequestParked('It is parked.'))

    assert outbox.sent == []


def test_policy_check_with_reply_to_delivers_an_error(endpoints, outbox):
    """An error is delivered to `reply_to` in place of the reply."""
    asked = changed(
        {**GOOD, 'reply_to': TO},
        lambda r: r['policies'][0]['spec'].update(type='nothing', version='9'),
    )

    with pytest.raises(PolicyTypeNotFound) as refused:
        endpoints.policy_check(asked)

    error = {'error': {'type': 'PolicyTypeNotFound', 'message': str(refused.value)}}
    assert ('reply', 'engine', 'replies', 'policy_checked', None, error) in outbox.sent


FORMS = [lambda asked: asked, lambda asked: msgspec.json.encode(asked).decode()]
"""The forms of a request: an object, and the same object as a JSON string."""


@pytest.mark.parametrize('form', FORMS, ids=['object', 'string'])
@pytest.mark.parametrize(
    'change',
    [
        lambda r: r.update(target='BEFOR'),
        lambda r: r.update(cluster=None),
        lambda r: r.pop('cluster'),
        lambda r: r.update(expires_at='tomorrow'),
    ],
    ids=['unknown target', 'no cluster', 'missing cluster', 'no time'],
)
def test_policy_check_that_does_not_decode_delivers_the_error_to_reply_to(
    endpoints, outbox, form, change
):
    """A cast that does not fit the contract gets the error that a call gets, in its own form."""
    asked = form(changed({**GOOD, 'reply_to': TO}, change))

    with pytest.raises(InvalidRequest) as refused:
        endpoints.policy_check(asked, 'req-1')

    error = form({'error': {'type': 'InvalidRequest', 'message': str(refused.value)}})
    assert outbox.sent == [
        ('reply', 'engine', 'replies', 'policy_checked', 'req-1', error),
        ('policy_check.error', 'InvalidRequest', str(refused.value), 'req-1'),
    ]


@pytest.mark.parametrize('reply_to', [{**TO, 'exchange': EXCHANGE}, {**TO, 'topic': '#'}, 7])
def test_policy_check_that_does_not_decode_sends_no_error_to_an_invalid_reply_to(
    endpoints, outbox, caplog, reply_to
):
    """The rules of `reply_to` hold for errors as well, and the log names the request."""
    with pytest.raises(InvalidRequest):
        endpoints.policy_check({'target': 'BEFOR', 'reply_to': reply_to}, 'req-1')

    assert [event[0] for event in outbox.sent] == ['policy_check.error']
    (record,) = [record for record in caplog.records if record.levelname == 'WARNING']
    assert record.getMessage().startswith('Sent no error to reply_to of request req-1: ')


def test_policy_check_that_does_not_decode_without_reply_to_logs_no_warning(endpoints, caplog):
    """The caller of a call gets the error as the reply, so no reply is missing."""
    with pytest.raises(InvalidRequest):
        endpoints.policy_check({'target': 'BEFOR'}, 'req-1')

    assert not [record for record in caplog.records if record.levelname == 'WARNING']


def test_policy_check_that_does_not_decode_without_delivery_logs_no_warning(registry, caplog):
    """Without a bus there is no destination to check."""
    with pytest.raises(InvalidRequest):
        Endpoints(CLOUD, registry).policy_check('{', 'req-1')

    assert not [record for record in caplog.records if record.levelname == 'WARNING']


def test_policy_check_with_reply_to_hides_the_text_of_an_internal_error(registry, outbox):
    """The text of an internal error is not delivered to `reply_to`."""

    class Broken:
        def acting_for(self, credentials, project):
            raise ValueError('password is hunter2')

    with pytest.raises(ValueError, match='hunter2'):
        Endpoints(Broken(), registry, outbox, outbox).policy_check({**GOOD, 'reply_to': TO})

    error = {
        'error': {
            'type': 'WorkerFailed',
            'message': 'The worker failed; its log has the traceback.',
        }
    }
    assert ('reply', 'engine', 'replies', 'policy_checked', None, error) in outbox.sent


@pytest.mark.parametrize('form', FORMS)
def test_deliver_error_for_a_parked_request_delivers_to_reply_to(endpoints, outbox, form):
    """The error about a parked request is delivered to its `reply_to`."""
    endpoints.deliver_error(
        form({**GOOD, 'reply_to': TO}), 'req-1', errors.RequestParked('It is parked.')
    )

    error = form({'error': {'type': 'RequestParked', 'message': 'It is parked.'}})
    assert outbox.sent == [('reply', 'engine', 'replies', 'policy_checked', 'req-1', error)]


@pytest.mark.parametrize('request_', [GOOD, '{', None, {'reply_to': 7}])
def test_deliver_error_without_a_valid_reply_to_delivers_nothing(endpoints, outbox, request_):
    """A parked request without a valid `reply_to` gets no delivery."""
    endpoints.deliver_error(request_, 'req-1', errors.RequestParked('It is parked.'))

    assert outbox.sent == []


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
        *('version', 'policy_types', 'hostname', 'pid', 'started_at', 'contract')
    }
    assert capabilities['contract'] == VERSION
    assert capabilities['started_at'] == '2026-01-01T12:00:00Z'


KEYS = st.sampled_from(
    [
        'count',
        'zones',
        'zone',
        'regions',
        'region',
        'places',
        'placements',
        'region_name',
        'candidates',
        'number',
        'adjustment_type',
        'min_size',
        'max_size',
        'min_step',
        'strict',
        'a',
        'R1',
        'EXACT_CAPACITY',
    ]
)
NUMBERS = (
    st.integers() | st.integers(10**18, 10**30) | st.floats(allow_nan=False, allow_infinity=False)
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
MAPS = st.dictionaries(
    st.sampled_from(['creation', 'deletion', 'placement', 'count', 'candidates']), ANYTHING
)


@given(
    action=st.sampled_from(sorted(actions.ALL)),
    data=MAPS,
    inputs=MAPS
    | st.dictionaries(st.sampled_from(['adjustment_type', 'number', 'count', 'strict']), ANYTHING),
    held=st.dictionaries(st.sampled_from(['placement', 'x']), ANYTHING),
)
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_policy_check_with_any_free_form_maps_is_decided(endpoints, action, data, inputs, held):
    """Any values in free-form maps lead to a decision, never to an internal error."""
    members = [node(1, 'a', 'R1'), node(2, data=held), node(3, 'b')]
    policies = [zone_policy('a', 'b'), region_policy('R1'), deletion_policy('RANDOM')]
    new = node(9, data=held)

    asked = request(action, policies, members, data=data, inputs=inputs, node=new)

    reply = json.loads(endpoints.policy_check(json.dumps(asked)))

    assert reply['action']['data']['status'] in ('OK', 'ERROR')


@pytest.mark.parametrize(
    'text',
    [
        '{"target":"NEITHER"',
        '{"target": "x - at `$.q"}',
        '{"target": "x - at `$.q` - at `$.r`"}',
        '{"target":"BEFORE","action":{"id":"a","action":"b"},"cluster":{"id":"c","profile":{"type":"t"},"nodes":[{"id":"n",'
        '"index":' + '9' * 5000 + '}]},"policies":[]}',
    ],
)
def test_policy_check_with_text_that_looks_like_an_error_is_refused(endpoints, text):
    """Values that imitate or break the texts of msgspec are refused with a short error."""
    with pytest.raises(InvalidRequest) as refused:
        endpoints.policy_check(text)

    assert len(str(refused.value)) < 300


def test_policy_attach_of_a_policy_without_resources_stores_nothing(endpoints, outbox):
    """Attaching and detaching such policies stores no data, and is notified."""
    asked = {'cluster': GOOD['cluster'], 'policy': {**zone_policy('a'), 'data': {'kept': 1}}}

    reply = endpoints.policy_attach(asked, 'req-1')
    back = json.loads(endpoints.policy_detach(json.dumps(asked)))

    policy = {'id': 'pol-zone_placement', 'data': {'kept': 1}}
    assert reply == {
        'status': 'OK',
        'reason': 'Policy attached.',
        'warnings': [],
        'policy': policy,
        'cluster': None,
        'nodes': {},
    }
    assert back == {**reply, 'reason': 'Policy detached.'}
    common = {
        'id': 'pol-zone_placement',
        'name': 'zone_placement',
        'type': 'senlin.policy.zone_placement-1.0',
    }
    assert outbox.sent[:2] == [
        ('policy_attach.start', {'request_id': 'req-1', 'cluster': {'id': 'c1'}, 'policy': common}),
        ('policy_attach.end', {**reply, 'request_id': 'req-1', 'cluster': {'id': 'c1'}}),
    ]


def test_policy_attach_to_an_unsupported_profile_type_fails_but_detach_works(
    endpoints,
):
    """A policy can be detached from, but not attached to, an unsupported profile type."""
    cluster = {**GOOD['cluster'], 'profile': {'type': 'os.heat.stack-1.0'}}

    reply = endpoints.policy_attach({'cluster': cluster, 'policy': zone_policy('a')})
    back = endpoints.policy_detach({'cluster': cluster, 'policy': zone_policy('a')})

    assert (reply['status'], reply['reason']) == (
        'ERROR',
        'Policy not applicable on profile type: os.heat.stack-1.0',
    )
    assert back['status'] == 'OK'


@pytest.mark.parametrize(
    'spec',
    [
        {
            'type': 'senlin.policy.zone_placement',
            'version': '1.0',
            'properties': {'zones': [{'name': 'a', 'weight': -1}]},
        },
        {'type': 'senlin.policy.region_placement', 'version': '7', 'properties': {}},
        {'type': 'senlin.policy.deletion', 'version': '2.0', 'properties': {'criteria': 'NEWEST'}},
    ],
)
def test_policy_detach_with_an_invalid_spec_works_but_attach_is_refused(endpoints, spec):
    """Detaching a policy of an installed type works without a spec that fits; attaching names what
    is wrong.
    """
    asked = {
        'cluster': GOOD['cluster'],
        'policy': {'id': 'pol-1', 'spec': spec, 'data': {'kept': 1}},
    }

    with pytest.raises((InvalidSpec, PolicyTypeNotFound)):
        endpoints.policy_attach(asked)
    reply = endpoints.policy_detach(asked)

    assert (reply['status'], reply['policy']) == ('OK', {'id': 'pol-1', 'data': {'kept': 1}})


@pytest.mark.parametrize('data', [{}, {'SomePolicy': {'version': '1.0', 'data': {}}}])
def test_policy_detach_of_an_unknown_type_is_refused(endpoints, data):
    """A policy whose type cannot be found is not reported as detached."""
    spec = {'type': 'senlin.policy.loadblance', 'version': '1.1', 'properties': {}}

    with pytest.raises(PolicyTypeNotFound, match='did you mean `senlin'):
        endpoints.policy_detach(
            {'cluster': GOOD['cluster'], 'policy': {'id': 'pol-1', 'spec': spec, 'data': data}}
        )


def test_policy_attach_after_its_expiry_or_malformed_does_nothing(endpoints, outbox):
    """An expired or malformed attachment changes nothing."""
    asked = {
        'cluster': GOOD['cluster'],
        'policy': zone_policy('a'),
        'expires_at': '2026-01-01T11:59:59Z',
    }

    assert endpoints.policy_attach(asked)['reason'] == 'Request expired'
    with pytest.raises(InvalidSpec, match=r'at `\$\.policy\.spec\.properties'):
        endpoints.policy_attach(
            {'cluster': GOOD['cluster'], 'policy': zone_policy(('a', -1))}, 'req-1'
        )
    assert outbox.sent[-1][:2] == ('policy_attach.error', 'InvalidSpec')


@pytest.mark.parametrize('method', ['policy_attach', 'policy_detach'])
def test_internal_error_of_a_policy_names_its_type(method):
    """The error of a policy that fails by mistake names its type, as at a check."""

    class Broken(Deletion):
        interface = (2, 0)

        def attach(self, request, state):
            raise KeyError('zone')

        detach = attach

    endpoints = Endpoints(CLOUD, Registry([('senlin.policy.deletion-1.1', Broken)]))

    with pytest.raises(KeyError) as raised:
        getattr(endpoints, method)({'cluster': GOOD['cluster'], 'policy': deletion_policy()})

    message = f"KeyError: 'zone' (in senlin.policy.deletion-1.1, a plugin of {__name__})"
    assert errors.with_notes(raised.value) == message
