"""Several checks in one message."""

import json
import logging

import pytest

from placement_worker.contract.model import MAX_CHECKS
from placement_worker.contract.request_limits import Limits
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.base import Outcome
from placement_worker.policies.registry import Registry
from tests.factories import changed, load_balancing_policy, nodes, request
from tests.malformed_requests import GOOD
from tests.unit.handlers.conftest import CLOUD, FORMS, TO
from tests.unit.policies.good_policy import Good

OTHER = changed(GOOD, lambda check: check['action'].update(id='other'))
MALFORMED = {**GOOD, 'target': 'NOW'}
SLOW = request('CLUSTER_SCALE_IN', [load_balancing_policy()], nodes(a=2), inputs={})


def many(endpoints, *requests):
    """Return the results of several checks."""
    return endpoints.policy_check_many({'requests': list(requests)}, 'req-1')


def decided(result):
    """Return the id of the action of a reply."""
    return result['reply']['action']['id']


class Failing(Good):
    """A policy with a bug."""

    interface = (2, 0)

    def check(self, request, state):
        raise RuntimeError('secret')


class Strange(Good):
    """A policy whose details JSON cannot hold."""

    interface = (2, 0)

    def check(self, request, state):
        return Outcome('APPLIED', 'done', details={'strange': object()})


@pytest.mark.parametrize('form', FORMS)
def test_checks_of_a_message_have_the_replies_of_single_checks_in_order(endpoints, form):
    """The reply to each check is that of a message of its own, in the form of the request."""
    reply = endpoints.policy_check_many(form({'requests': [GOOD, OTHER]}))

    single = [{'reply': endpoints.policy_check(one)} for one in (GOOD, OTHER)]
    assert reply == form(single)


def test_message_without_checks_has_no_results(endpoints):
    """An empty list of checks has an empty list of results."""
    assert many(endpoints) == []


def test_malformed_check_leaves_the_others(endpoints):
    """A malformed check has its error in its place, and the others are decided."""
    first, second, third = many(endpoints, GOOD, MALFORMED, OTHER)

    assert (decided(first), decided(third)) == (GOOD['action']['id'], 'other')
    assert second == {
        'error': {
            'type': 'InvalidRequest',
            'message': 'Expected one of `AFTER`, `BEFORE`, got `NOW` - at `$.target`',
        }
    }


@pytest.mark.parametrize(
    ('change', 'error'),
    [
        (lambda check: check.update(policies=[{'id': 'p', 'spec': {'type': 't', 'version': 1}}]),
         'PolicyTypeNotFound'),
        (lambda check: check['action'].update(action='CLUSTER_GROW'), 'UnsupportedAction'),
        (lambda check: check['policies'][0]['spec'].update(properties={'no': 1}), 'InvalidSpec'),
    ],
)  # fmt: skip
def test_refused_check_leaves_the_others(endpoints, change, error):
    """A check that breaks a rule of the contract has the error of a single check."""
    refused, other = many(endpoints, changed(GOOD, change), OTHER)

    assert refused['error']['type'] == error
    assert decided(other) == 'other'


def test_check_that_cannot_be_decided_has_a_reply_with_its_reason(endpoints):
    """A request that has expired has a reply with status ERROR, as a single check."""
    expired, other = many(endpoints, {**GOOD, 'expires_at': '2026-01-01T11:59:59Z'}, OTHER)

    assert expired['reply']['action']['data'] == {'status': 'ERROR', 'reason': 'Request expired'}
    assert other['reply']['action']['data']['status'] == 'OK'


@pytest.mark.parametrize(
    ('asked', 'path'), [(SLOW, '$.policies'), ({**GOOD, 'reply_to': TO}, '$.reply_to')]
)
def test_check_that_must_be_sent_alone_is_refused_with_that_advice(endpoints, outbox, asked, path):
    """One message never waits for Octavia, and a redelivery repeats no effect."""
    (refused,) = many(endpoints, asked)

    assert refused['error']['type'] == 'InvalidRequest'
    assert f'at `{path}`' in refused['error']['message']
    assert refused['error']['message'].endswith('alone, with policy_check')
    assert [event for event, *_ in outbox.sent] == ['policy_check.error']


def test_each_check_has_its_notifications_and_lines(endpoints, outbox, caplog):
    """An audit and the log show each check of a message as if it were alone."""
    with caplog.at_level(logging.INFO):
        many(endpoints, GOOD, MALFORMED)

    assert [event for event, *_ in outbox.sent] == [
        'policy_check.start',
        'policy_check.end',
        'policy_check.error',
    ]
    lines = [record.getMessage() for record in caplog.records]
    assert [': OK in ' in lines[0], 'policy_check refused: ' in lines[-1]] == [True, True]


@pytest.mark.parametrize('policy', [Failing, Strange])
def test_bug_in_one_check_leaves_the_others_and_hides_its_text(outbox, caplog, policy):
    """A failing plugin fails its check alone; the log has the traceback, the reply has no text."""
    endpoints = Endpoints(CLOUD, Registry([(f'{Good.name}-1.0', policy)]), outbox)
    binding = {'id': 'own', 'spec': {'type': Good.name, 'version': '1.0'}}

    failed, other = many(
        endpoints,
        request('CLUSTER_SCALE_OUT', [binding]),
        request('CLUSTER_SCALE_OUT', [], id='other'),
    )

    assert failed['error'] == {
        'type': 'WorkerFailed',
        'message': 'The worker failed; its log has the traceback.',
    }
    assert decided(other) == 'other'
    assert any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize(
    ('sent', 'message'),
    [
        ({'requests': {}}, 'Expected `array`, got `object` - at `$.requests`'),
        ({}, 'Object missing required field `requests` - at `$`'),
        ({'requests': [GOOD] * (MAX_CHECKS + 1)}, 'Expected `array` of length <= 100'),
        ('{"requests": [{}', 'Expected JSON - at `$`'),
    ],
)
def test_malformed_message_is_refused_as_a_whole(endpoints, outbox, sent, message):
    """A message that cannot be divided into at most 100 checks decides nothing."""
    with pytest.raises(InvalidRequest) as raised:
        endpoints.policy_check_many(sent)

    assert str(raised.value).startswith(message)
    assert [event for event, *_ in outbox.sent] == ['policy_check_many.error']


def test_limit_of_bytes_is_that_of_the_whole_message(registry):
    """One message cannot be larger than the largest single request."""
    endpoints = Endpoints(CLOUD, registry, limits=lambda: Limits(request_bytes=2000))
    encoded = json.dumps({'requests': [GOOD] * 3})

    assert len(json.dumps(GOOD)) < 2000 < len(encoded)
    with pytest.raises(InvalidRequest, match='Expected at most 2000 bytes'):
        endpoints.policy_check_many(encoded)


def test_limit_of_nodes_is_that_of_each_check(registry):
    """Two clusters together may have more nodes than the largest cluster."""
    endpoints = Endpoints(CLOUD, registry, limits=lambda: Limits(nodes_per_cluster=3))
    grown = request('CLUSTER_SCALE_OUT', [GOOD['policies'][0]], nodes(a=2), inputs={'count': 1})
    too_large = changed(grown, lambda check: check['action']['inputs'].update(count=2))

    results = many(endpoints, grown, grown, too_large)

    statuses = [one['reply']['action']['data']['status'] for one in results]
    assert statuses == ['OK', 'OK', 'ERROR']


def test_each_check_is_recorded_with_the_id_of_the_message(registry):
    """The decision log has an entry for each check of a message."""
    recorded = []

    class Recorder:
        def begin(self, request_id, conditions):
            self.conditions, self.request_id = conditions, request_id
            return self

        def end(self, method, asked, reply):
            recorded.append((method, self.request_id, asked.action.id))

    many(Endpoints(CLOUD, registry, recorder=Recorder()), GOOD, OTHER)

    first = GOOD['action']['id']
    assert recorded == [('policy_check', 'req-1', first), ('policy_check', 'req-1', 'other')]
