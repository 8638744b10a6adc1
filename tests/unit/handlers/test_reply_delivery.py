"""The delivery of replies and errors to the destination of a cast."""

import datetime
import json
from contextlib import nullcontext

import msgspec
import pytest

from placement_worker import errors
from placement_worker.contract import codec
from placement_worker.contract.model import ReplyTo
from placement_worker.contract.rpc import EXCHANGE
from placement_worker.errors import InvalidRequest
from placement_worker.handlers import reply_delivery
from placement_worker.handlers.reply_delivery import Destinations
from placement_worker.handlers.service import Endpoints, WorkerSettings
from tests.factories import changed
from tests.malformed_requests import GOOD
from tests.unit.handlers.conftest import CLOUD, FORMS, TO

QUEUES = ['workers-suspects', 'workers-parked']
OPEN = {'exchange': 'own', 'queues': QUEUES, 'notification_topics': ['audit', 'billing']}


FORBIDDEN = [
    *(('', topic) for topic in ('workers-parked', 'anything')),
    *((exchange, 'replies') for exchange in ('amq.topic', 'amq.direct', 'amq.', 'own')),
    *(('engine', topic) for topic in ('audit', 'audit.info', 'audit.error', 'billing.sample')),
    *(('engine', f'workers-{queue}') for queue in ('suspects', 'parked', 'parked.host')),
]
IS_FORBIDDEN = r'at `\$\.reply_to\.(exchange|topic)`$'
IS_UNLISTED = 'reply_to_allowed'
LISTED = ('engine', 'senlin-*/replies')


@pytest.mark.parametrize(
    ('allowed', 'place', 'refusal'),
    [
        # No list opens the places that are always forbidden.
        *(
            (allowed, place, IS_FORBIDDEN)
            for allowed in ((), ('*',), ('*/*',))
            for place in FORBIDDEN
        ),
        # Names that merely resemble forbidden ones are accepted.
        *(((), place, None) for place in (('amqp', 'replies'), ('owner', 'audits'))),
        *((allowed, ('engine', 'my.audit'), None) for allowed in ((), LISTED)),
        # A pattern without a topic allows all topics; `*` stands for any characters.
        (LISTED, ('engine', 'anything'), None),
        (LISTED, ('senlin-1', 'replies'), None),
        *(
            (LISTED, place, IS_UNLISTED)
            for place in (('engine2', 'x'), ('senlin-1', 'other'), ('foreign', 'replies'))
        ),
    ],
)
def test_check_of_a_destination_refuses_forbidden_and_unlisted_ones(allowed, place, refusal):
    """A worker publishes only where no queue of its own or of the broker takes it."""
    with pytest.raises(InvalidRequest, match=refusal) if refusal else nullcontext():
        Destinations(allowed, **OPEN).check(ReplyTo(*place, 'm'))


@pytest.mark.parametrize(
    ('key', 'name', 'accepted'),
    [
        *(
            (key, name, False)
            for key in ('exchange', 'topic', 'method')
            for name in ('a b', 'a\n', '\x1b[2J', 'a#', '*', 'ä', 'a' * 256)
        ),
        *(('method', name, True) for name in ('__init__', 'm2')),
        *(('method', name, False) for name in ('2m', 'a.b', 'a-b', '')),
        ('topic', '', False),
    ],
)
def test_decode_of_a_name_accepts_no_wildcard_and_methods_must_be_identifiers(key, name, accepted):
    """No white space or control character, and no long name, passes the decoder."""
    to = {**TO, key: name}

    with nullcontext() if accepted else pytest.raises(InvalidRequest, match=rf'`\$\.{key}`'):
        codec.decode(to, ReplyTo)


TEXT = json.dumps({'cluster': None, 'reply_to': TO})
MAX_BYTES = 10_000


def addressed(raw, max_bytes=MAX_BYTES):
    return reply_delivery.address_of(raw, max_bytes)[0]


@pytest.mark.parametrize(
    'raw',
    [
        {'reply_to': TO, 'cluster': None, 'target': 7},
        {'reply_to': TO, 'cluster': 'x' * MAX_BYTES},
        TEXT,
        TEXT.replace('null', '"\ud800"'),
        TEXT.replace('null', '"ü"'),
        TEXT.replace('{', '{"cluster": 1, ', 1),
    ],
    ids=['object', 'large object', 'string', 'surrogate', 'umlaut', 'duplicate key'],
)
def test_address_in_an_invalid_request_is_found(raw):
    """Errors outside of `reply_to` do not hide the destination."""
    assert addressed(raw) == ReplyTo(**TO)


@pytest.mark.parametrize(
    ('expires_at', 'expected'),
    [
        ('2026-01-01T12:00:00Z', datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)),
        ('tomorrow', None),
        (7, None),
        (None, None),
    ],
)
@pytest.mark.parametrize('form', [dict, json.dumps])
def test_expiry_of_an_address_that_is_no_time_counts_as_none(form, expires_at, expected):
    """The expiry is read if it is valid, and does not hide the destination otherwise."""
    address = reply_delivery.address_of(form({'reply_to': TO, 'expires_at': expires_at}), MAX_BYTES)

    assert address == (ReplyTo(**TO), expected)


@pytest.mark.parametrize(
    ('raw', 'max_bytes'),
    [
        *((raw, MAX_BYTES) for raw in (None, [], 7, '{', '[]', TEXT[:-1], {'reply_to': 7})),
        ({'reply_to': {**TO, 'topic': '*'}}, MAX_BYTES),
        (TEXT, len(TEXT) - 1),
    ],
)
def test_address_that_cannot_be_read_is_refused(raw, max_bytes):
    """An unreadable request or destination, or one above the limit, is an error of the contract."""
    with pytest.raises(InvalidRequest):
        addressed(raw, max_bytes)


def test_address_is_searched_up_to_the_size_limit_of_requests():
    """A string at the limit has its address; one that names no destination has none."""
    assert addressed(TEXT, len(TEXT)) == ReplyTo(**TO)
    for raw in ({}, {'reply_to': None}, '{}', '{"reply_to": null}'):
        assert reply_delivery.address_of(raw, MAX_BYTES) is None


def test_policy_check_with_reply_to_delivers_the_reply(endpoints, outbox):
    """The reply is also delivered to `reply_to`, in the form of the request."""
    text = msgspec.json.encode({**GOOD, 'reply_to': TO}).decode()

    answer = endpoints.policy_check(text, 'req-1')

    assert outbox.sent[-1] == ('reply', 'engine', 'replies', 'policy_checked', 'req-1', answer)


@pytest.mark.parametrize(
    ('asked', 'at'),
    [
        *((GOOD, {'exchange': exchange}) for exchange in ('', 'amq.topic', EXCHANGE)),
        # The rules of `reply_to` hold for errors of a request that does not decode as well.
        *(({'target': 'BEFOR'}, wrong) for wrong in ({'exchange': EXCHANGE}, {'topic': '#'}, None)),
    ],
)
def test_check_whose_reply_to_is_forbidden_is_refused_and_gets_no_error(
    endpoints, outbox, caplog, asked, at
):
    """A forbidden `reply_to` is logged and counted like other refusals, and gets no reply."""
    caplog.set_level('INFO')
    with pytest.raises(InvalidRequest):
        endpoints.policy_check({**asked, 'reply_to': 7 if at is None else {**TO, **at}}, 'req-1')

    assert [event[:2] for event in outbox.sent] == [('policy_check.error', 'InvalidRequest')]
    assert 'policy_check refused: InvalidRequest: ' in caplog.text
    (record,) = [record for record in caplog.records if record.levelname == 'WARNING']
    assert record.getMessage().startswith('Sent no error to reply_to of request req-1: Expected ')


@pytest.mark.parametrize('form', FORMS, ids=['object', 'string'])
@pytest.mark.parametrize(
    'change',
    [
        lambda r: r.update(target='BEFOR'),
        lambda r: r.update(cluster=None),
        lambda r: r.pop('cluster'),
        lambda r: r.update(expires_at='tomorrow'),
        lambda r: r['policies'][0]['spec'].update(type='nothing', version='9'),
    ],
    ids=['unknown target', 'no cluster', 'missing cluster', 'no time', 'unknown type'],
)
def test_policy_check_that_is_refused_delivers_the_error_to_reply_to(
    endpoints, outbox, form, change
):
    """A cast that is refused gets the error that a call gets, in its own form."""
    asked = form(changed({**GOOD, 'reply_to': TO}, change))

    with pytest.raises(errors.Refused) as refused:
        endpoints.policy_check(asked, 'req-1')

    name = type(refused.value).__name__
    error = form({'error': {'type': name, 'message': str(refused.value)}})
    assert sorted(outbox.sent, key=len) == [
        ('policy_check.error', name, str(refused.value), 'req-1'),
        ('reply', 'engine', 'replies', 'policy_checked', 'req-1', error),
    ]


def test_policy_check_that_does_not_decode_outside_of_casts_logs_no_warning(
    endpoints, registry, caplog
):
    """No reply is missing: a call gets the error, and without a bus there is no destination."""
    for worker, asked in ((endpoints, {'target': 'BEFOR'}), (Endpoints(CLOUD, registry), '{')):
        with pytest.raises(InvalidRequest):
            worker.policy_check(asked, 'req-1')

    assert not [record for record in caplog.records if record.levelname == 'WARNING']


def test_policy_check_with_reply_to_hides_the_text_of_an_internal_error(registry, outbox):
    """The text of an internal error is not delivered to `reply_to`."""

    class Broken:
        def acting_for(self, credentials, project):
            raise ValueError('password is hunter2')

    with pytest.raises(ValueError, match='hunter2'):
        Endpoints(Broken(), registry, WorkerSettings(events=outbox, delivery=outbox)).policy_check(
            {**GOOD, 'reply_to': TO}
        )

    message = 'The worker failed; its log has the traceback.'
    error = {'error': {'type': 'WorkerFailed', 'message': message}}
    assert ('reply', 'engine', 'replies', 'policy_checked', None, error) in outbox.sent


@pytest.mark.parametrize('form', FORMS)
def test_deliver_error_for_a_parked_request_delivers_to_reply_to(endpoints, outbox, form):
    """The error about a parked request is delivered to its `reply_to`."""
    endpoints.deliver_error(
        form({**GOOD, 'reply_to': TO}), 'req-1', errors.RequestParked('It is parked.')
    )

    error = form({'error': {'type': 'RequestParked', 'message': 'It is parked.'}})
    assert outbox.sent == [('reply', 'engine', 'replies', 'policy_checked', 'req-1', error)]


@pytest.mark.parametrize(
    'request_',
    [GOOD, '{', None, {'reply_to': 7}, {**GOOD, 'reply_to': {**TO, 'exchange': EXCHANGE}}],
)
def test_deliver_error_without_a_valid_reply_to_delivers_nothing(endpoints, outbox, request_):
    """A parked request without a valid `reply_to` gets no delivery."""
    endpoints.deliver_error(request_, 'req-1', errors.RequestParked('It is parked.'))

    assert outbox.sent == []
