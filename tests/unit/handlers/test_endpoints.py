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
from placement_worker.contract import actions
from placement_worker.contract.limits import Limits
from placement_worker.contract.model import Credentials
from placement_worker.contract.topics import EXCHANGE
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
from placement_worker.messaging.publisher import ended, started
from placement_worker.policies.deletion import Deletion
from placement_worker.policies.registry import Registry
from tests.factories import changed, deletion_policy, node, region_policy, request, zone_policy
from tests.malformed_requests import GOOD, TABLE

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
def test_a_malformed_request_is_refused_in_exact_words_and_nothing_is_done(endpoints, outbox, row):
    with pytest.raises(errors.Refused) as refused:
        endpoints.policy_check(row.sent, 'req-1')

    assert (type(refused.value).__name__, str(refused.value)) == (row.error, row.message)
    assert outbox.sent == [('policy_check.error', row.error, row.message, 'req-1')]


def test_the_table_of_malformed_requests_is_long_and_starts_from_a_good_one(endpoints):
    assert len(TABLE) >= 60
    assert len({row.name for row in TABLE}) == len(TABLE)
    assert endpoints.policy_check(GOOD)['action']['data']['status'] == 'OK'


def test_the_reply_has_the_form_of_the_request(endpoints):
    plain = endpoints.policy_check(GOOD)

    assert isinstance(plain, dict)
    assert (
        endpoints.policy_check(msgspec.json.encode(GOOD).decode())
        == msgspec.json.encode(plain).decode()
    )


def test_keys_that_the_contract_does_not_list_are_ignored(endpoints):
    extra = changed(GOOD, lambda r: (r.update(dryrun=True), r['cluster'].update(status='ACTIVE')))

    assert endpoints.policy_check(extra) == endpoints.policy_check(GOOD)


def test_a_request_above_the_limit_is_refused_in_either_form(registry):
    text = msgspec.json.encode(GOOD).decode()
    endpoints = Endpoints(CLOUD, registry, limits=lambda: Limits(request_bytes=len(text) - 1))

    for form in (GOOD, text):
        with pytest.raises(
            InvalidRequest,
            match=f'^Expected at most {len(text) - 1} bytes, got {len(text)} - at `\\$`',
        ):
            endpoints.policy_check(form)


def test_deeply_nested_input_is_refused(endpoints):
    depth = sys.getrecursionlimit() * 10
    text = (
        msgspec.json.encode(GOOD)
        .decode()
        .replace('"inputs":{}', '"inputs":{"x":' + '[' * depth + ']' * depth + '}')
    )

    with pytest.raises(InvalidRequest, match=r'^Expected JSON - at `\$`: '):
        endpoints.policy_check(text)


def test_the_same_request_gives_the_same_reply_to_the_byte_in_any_order_of_nodes(endpoints):
    zones = ['a', 'b', None]
    members = [node(n, zones[n % 3], tainted=n % 11 == 0) for n in range(1, 29)]
    policies = [zone_policy('a', ('b', 200)), deletion_policy('RANDOM')]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 17}, explain='full')
    expected = endpoints.policy_check(msgspec.json.encode(asked).decode())

    for seed in range(1000):
        random.Random(seed).shuffle(asked['cluster']['nodes'])
        assert endpoints.policy_check(msgspec.json.encode(asked).decode()) == expected


def test_a_disabled_policy_is_left_out_whatever_its_spec(endpoints):
    policies = [zone_policy('a'), {**zone_policy(), 'enabled': False}]

    reply = endpoints.policy_check(request('CLUSTER_SCALE_OUT', policies))

    assert [d['outcome'] for d in reply['decisions']] == ['APPLIED']


@pytest.mark.parametrize(
    ('expires_at', 'status'), [('2026-01-01T11:59:59Z', 'ERROR'), ('2026-01-01T12:00:01', 'OK')]
)
def test_a_request_that_nobody_waits_for_any_more_is_not_decided(endpoints, expires_at, status):
    reply = endpoints.policy_check({**GOOD, 'expires_at': expires_at})

    assert reply['action']['data']['status'] == status
    if status == 'ERROR':
        assert reply['action']['data'] == {'status': 'ERROR', 'reason': 'Request expired'}
        assert reply['decisions'] == []


def test_an_expired_request_is_logged_with_its_delay_and_the_possible_causes(endpoints, caplog):
    """The delay distinguishes a clock that is behind from a long queue, and the record is one
    line.
    """
    cluster = {**GOOD['cluster'], 'id': 'c\n1'}

    endpoints.policy_check({**GOOD, 'cluster': cluster, 'expires_at': '2026-01-01T11:59:00Z'})

    (record,) = [record for record in caplog.records if record.levelname == 'WARNING']
    assert record.getMessage().startswith(
        r"Request for cluster 'c\n1' expired 60.0 s before a worker began it"
    )
    assert "the caller's clock is behind" in record.getMessage()


class Refusing:
    """Clouds that let nobody in."""

    def acting_for(self, credentials, project):
        raise CloudUnavailable('No trust, no cloud.')


def test_a_cloud_that_refuses_the_credentials_is_the_replys_reason(registry):
    reply = Endpoints(Refusing(), registry).policy_check(
        changed(GOOD, lambda r: r['action'].update(data={'kept': 1}))
    )

    assert reply['action']['data'] == {
        'kept': 1,
        'status': 'ERROR',
        'reason': 'No trust, no cloud.',
    }


@pytest.mark.parametrize('action', ['CLUSTER_CHECK', 'NODE_CHECK', 'CLUSTER_DELETE'])
def test_an_action_that_no_policy_handles_passes_though_the_cloud_lets_nobody_in(registry, action):
    asked = request(action, [zone_policy('a'), deletion_policy()], [node(1)], node=node(1))

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    assert reply['action']['data'] == {'status': 'OK', 'reason': 'Completed policy checking.'}
    assert [decision['outcome'] for decision in reply['decisions']] == ['SKIPPED', 'SKIPPED']


def test_a_profile_type_that_no_policy_supports_passes_though_the_cloud_lets_nobody_in(registry):
    stack = {'id': 'pr1', 'type': 'os.heat.stack-1.0'}
    asked = request('NODE_CREATE', [zone_policy('a')], node=node(1), profile=stack)

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    assert (reply['action']['data']['status'], reply['decisions'][0]['outcome']) == (
        'OK',
        'SKIPPED',
    )


def test_credentials_count_for_a_policy_that_would_not_ask_the_cloud_too(registry):
    asked = request(
        'CLUSTER_SCALE_IN', [zone_policy('a', enabled=False), deletion_policy()], [node(1)]
    )

    reply = Endpoints(Refusing(), registry).policy_check(asked)

    assert (reply['action']['data']['reason'], reply['decisions']) == ('No trust, no cloud.', [])


def test_notifications_tell_start_and_end(endpoints, outbox):
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


def test_a_reply_goes_also_to_where_it_is_wanted_in_the_form_of_the_request(endpoints, outbox):
    text = msgspec.json.encode({**GOOD, 'reply_to': TO}).decode()

    answer = endpoints.policy_check(text, 'req-1')

    assert outbox.sent[-1] == ('reply', 'engine', 'replies', 'policy_checked', 'req-1', answer)


@pytest.mark.parametrize('exchange', ['', 'amq.topic', EXCHANGE])
def test_check_whose_reply_to_is_forbidden_is_refused_before_it_is_decided(
    registry, outbox, caplog, exchange
):
    """A request with a forbidden `reply_to` is logged and counted like other refusals, and not
    answered there.
    """
    caplog.set_level('INFO')
    with pytest.raises(errors.InvalidRequest, match=r'at `\$\.reply_to`$'):
        Endpoints(CLOUD, registry, outbox, outbox).policy_check(
            {**GOOD, 'reply_to': {**TO, 'exchange': exchange}}, 'req-1'
        )

    assert [event[:2] for event in outbox.sent] == [('policy_check.error', 'InvalidRequest')]
    assert 'policy_check refused: InvalidRequest: ' in caplog.text


def test_request_that_is_parked_tells_no_forbidden_target(endpoints, outbox):
    """The error that stands for a parked request obeys the same rules as a reply."""
    asked = {**GOOD, 'reply_to': {**TO, 'exchange': EXCHANGE}}

    endpoints.deliver_error(asked, 'req-1', errors.RequestParked('It is parked.'))

    assert outbox.sent == []


def test_who_waits_for_a_reply_elsewhere_is_told_of_an_error(endpoints, outbox):
    asked = changed(
        {**GOOD, 'reply_to': TO},
        lambda r: r['policies'][0]['spec'].update(type='nothing', version='9'),
    )

    with pytest.raises(PolicyTypeNotFound) as refused:
        endpoints.policy_check(asked)

    error = {'error': {'type': 'PolicyTypeNotFound', 'message': str(refused.value)}}
    assert ('reply', 'engine', 'replies', 'policy_checked', None, error) in outbox.sent


def test_who_waits_for_a_reply_elsewhere_hears_of_a_fault_of_ours_but_not_what_it_says(
    registry, outbox
):
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


@pytest.mark.parametrize(
    'form', [lambda asked: asked, lambda asked: msgspec.json.encode(asked).decode()]
)
def test_who_waits_for_a_reply_elsewhere_is_told_that_a_request_was_parked(endpoints, outbox, form):
    endpoints.deliver_error(
        form({**GOOD, 'reply_to': TO}), 'req-1', errors.RequestParked('It is parked.')
    )

    error = form({'error': {'type': 'RequestParked', 'message': 'It is parked.'}})
    assert outbox.sent == [('reply', 'engine', 'replies', 'policy_checked', 'req-1', error)]


@pytest.mark.parametrize('request_', [GOOD, '{', None, {'reply_to': 7}])
def test_nobody_is_told_of_a_parked_request_that_names_nobody(endpoints, outbox, request_):
    endpoints.deliver_error(request_, 'req-1', errors.RequestParked('It is parked.'))

    assert outbox.sent == []


def spec_of(binding):
    return binding['spec']


def test_validating_a_spec_fills_in_its_defaults(endpoints):
    answer = endpoints.policy_validate({'spec': spec_of(zone_policy('a'))})

    assert answer == {
        'spec': {
            'type': 'senlin.policy.zone_placement',
            'version': '1.0',
            'properties': {'zones': [{'name': 'a', 'weight': 100}]},
        }
    }
    assert endpoints.policy_validate(answer) == answer


def test_validating_a_spec_names_what_does_not_fit(endpoints):
    with pytest.raises(
        InvalidSpec, match=r'got `0` - at `\$\.spec\.properties\.zones\[0\]\.weight`'
    ):
        endpoints.policy_validate({'spec': spec_of(zone_policy(('a', 0)))})


def test_validating_against_the_cloud_names_every_zone_that_it_has_not(endpoints):
    asked = {'spec': spec_of(zone_policy('x', 'a', 'down')), 'check_resources': True}

    with pytest.raises(
        InvalidSpec, match=r'^The cloud has no usable availability zone `x`, `down`\.$'
    ):
        endpoints.policy_validate(asked)


def test_validating_against_the_cloud_names_every_region_that_it_has_not(endpoints):
    spec = {
        'type': 'senlin.policy.region_placement',
        'version': 1,
        'properties': {'regions': [{'name': 'R1'}, {'name': 'R8'}, {'name': 'R9'}]},
    }

    with pytest.raises(InvalidSpec, match=r'^The cloud has no usable region `R8`, `R9`\.$'):
        endpoints.policy_validate({'spec': spec, 'check_resources': True})


def test_a_policy_without_resources_is_valid_anywhere(endpoints):
    assert endpoints.policy_validate({'spec': spec_of(deletion_policy()), 'check_resources': True})


def test_types_are_listed_and_shown_with_their_schema(endpoints):
    listed = endpoints.policy_type_list({})
    shown = endpoints.policy_type_get({'type_name': 'senlin.policy.deletion-1.1'})

    assert [one['name'] for one in listed] == [
        'senlin.policy.deletion-1.0',
        'senlin.policy.deletion-1.1',
        'senlin.policy.loadbalance-1.0',
        'senlin.policy.loadbalance-1.1',
        'senlin.policy.loadbalance-1.2',
        'senlin.policy.loadbalance-1.3',
        'senlin.policy.region_placement-1.0',
        'senlin.policy.zone_placement-1.0',
    ]
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


def test_a_type_that_is_not_there_cannot_be_shown(endpoints):
    with pytest.raises(PolicyTypeNotFound, match=r'nothing-1\.0'):
        endpoints.policy_type_get({'type_name': 'nothing-1.0'})


def test_capabilities_say_who_answers(endpoints):
    answer = endpoints.get_capabilities('{}')

    told = msgspec.json.decode(answer)
    assert set(told) == {'version', 'policy_types', 'hostname', 'pid', 'started_at'}
    assert told['started_at'] == '2026-01-01T12:00:00Z'


def test_a_trust_does_not_show_when_credentials_are_printed():
    assert 'secret-trust' not in repr(Credentials('secret-trust'))


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
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_free_form_maps_hold_the_answer_is_a_decision(
    endpoints, action, data, inputs, held
):
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
def test_text_that_msgspecs_errors_do_not_foresee_is_refused_all_the_same(endpoints, text):
    with pytest.raises(InvalidRequest) as refused:
        endpoints.policy_check(text)

    assert len(str(refused.value)) < 300


def test_attaching_placement_and_deletion_policies_stores_nothing_and_is_told_of(endpoints, outbox):
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
    told = {
        'id': 'pol-zone_placement',
        'name': 'zone_placement',
        'type': 'senlin.policy.zone_placement-1.0',
    }
    assert outbox.sent[:2] == [
        ('policy_attach.start', {'request_id': 'req-1', 'cluster': {'id': 'c1'}, 'policy': told}),
        ('policy_attach.end', {**reply, 'request_id': 'req-1', 'cluster': {'id': 'c1'}}),
    ]


def test_a_policy_cannot_be_attached_to_a_profile_type_that_it_does_not_support_but_detached(
    endpoints,
):
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
def test_a_policy_whose_spec_does_not_fit_is_detached_but_not_attached(endpoints, spec):
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
def test_a_policy_of_a_type_that_neither_name_nor_data_tell_is_refused(endpoints, data):
    """A policy whose type cannot be found is not reported as detached."""
    spec = {'type': 'senlin.policy.loadblance', 'version': '1.1', 'properties': {}}

    with pytest.raises(PolicyTypeNotFound, match='did you mean `senlin'):
        endpoints.policy_detach(
            {'cluster': GOOD['cluster'], 'policy': {'id': 'pol-1', 'spec': spec, 'data': data}}
        )


def test_an_attachment_that_comes_too_late_or_is_not_well_formed_does_nothing(endpoints, outbox):
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
def test_fault_of_a_policy_that_is_attached_or_detached_names_its_type(method):
    """The error of a policy that fails by mistake names its type, as at a check."""

    class Broken(Deletion):
        def attach(self, request, state):
            raise KeyError('zone')

        detach = attach

    endpoints = Endpoints(CLOUD, Registry([('senlin.policy.deletion-1.1', Broken)]))

    with pytest.raises(KeyError) as raised:
        getattr(endpoints, method)({'cluster': GOOD['cluster'], 'policy': deletion_policy()})

    told = f"KeyError: 'zone' (in senlin.policy.deletion-1.1, a plugin of {__name__})"
    assert errors.with_notes(raised.value) == told
