"""The lines of the log about each request."""

import datetime
import functools
import json

import msgspec
import pytest
from msgspec import structs

from placement_worker.contract.model import (
    ActionPatch,
    BindReply,
    BindRequest,
    CheckReply,
    CheckRequest,
    Decision,
    RebalanceReply,
    RebalanceRequest,
)
from placement_worker.errors import InvalidRequest, PolicyTypeNotFound
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    CordonUnknown,
    RebalancePlanned,
    RequestFailed,
)
from placement_worker.handlers import request_log
from placement_worker.handlers.request_log import RequestLog
from tests.factories import NOW, bind, deletion_policy, rebalance, request


@pytest.fixture
def lines(caplog):
    """Return level and text of each line that the log has."""
    caplog.set_level('INFO')
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


def check(cluster_id='c1', warnings=(), status='OK', reason='Completed'):
    """Return the event of a check whose reply has these warnings, this status and this reason."""
    asked = request('CLUSTER_SCALE_IN', [])
    asked = {**asked, 'cluster': {**asked['cluster'], 'id': cluster_id}}
    action = ActionPatch('a', {'status': status, 'reason': reason})
    none = {'cluster': None, 'nodes': {}, 'decisions': []}
    reply = CheckReply(action=action, warnings=list(warnings), **none)
    return CheckEnded(msgspec.convert(asked, CheckRequest), reply, 0.0125, 'req-1')


SUBJECT = "BEFORE CLUSTER_SCALE_IN 'act-1' of cluster 'c1': "
REBALANCE = msgspec.convert(rebalance([], []), RebalanceRequest)


def binding(status):
    """Return the event of an attachment that took 1 ms."""
    policy = {'id': 'p', 'data': {}}
    reply = {'status': status, 'reason': 'no', 'policy': policy, 'cluster': None, 'nodes': {}}
    asked = msgspec.convert(bind(deletion_policy()), BindRequest)
    replied = msgspec.convert(reply, BindReply)
    return BindingEnded('policy_attach', asked, replied, 'deletion', 'deletion-1.1', 0.001, None)


ATTACHED = "policy_attach of deletion of cluster 'c1': "
REBALANCED = "policy_rebalance of cluster 'c1': "
REFUSED = f'{SUBJECT}policy_check refused: '
PLANNED = RebalancePlanned(REBALANCE, RebalanceReply('OK', 'done', ['Mind']), 0.001)


def refused(error):
    return RequestFailed('policy_check', error, 'req-1', SUBJECT)


@pytest.mark.parametrize(
    ('event', 'expected'),
    [
        (check(warnings=['Mind']), [f'INFO {SUBJECT}OK in 12.5 ms', f'WARNING {SUBJECT}Mind']),
        (check(status='ERROR', reason='No az9'), [f'WARNING {SUBJECT}ERROR in 12.5 ms: No az9']),
        (binding('OK'), [f'INFO {ATTACHED}OK in 1.0 ms']),
        (binding('ERROR'), [f'WARNING {ATTACHED}ERROR in 1.0 ms: no']),
        (PLANNED, [f'INFO {REBALANCED}OK in 1.0 ms', f'WARNING {REBALANCED}Mind']),
        (refused(InvalidRequest('no id')), [f'INFO {REFUSED}InvalidRequest: no id']),
        (refused(PolicyTypeNotFound('no x')), [f'WARNING {REFUSED}PolicyTypeNotFound: no x']),
        # The RPC server logs internal errors, with a traceback.
        (refused(KeyError('zone')), []),
    ],
)
def test_request_is_logged_in_one_line_with_its_outcome(lines, event, expected):
    """An operator who must act finds the line in a log that begins at WARNING."""
    RequestLog(lambda: NOW).handle(event)

    assert [*map(' '.join, lines())] == expected


@pytest.mark.parametrize(
    ('event', 'part', 'limit'),
    [
        (check(status='ERROR', reason='a\n\x1b[2J' + 'x' * 10_000), 'ms: a\\n\\u001b[2Jxxx', 600),
        (check(cluster_id='c\n' + 'x' * 1000), "of cluster 'c\\nx", 150),
    ],
)
def test_text_of_any_length_is_logged_in_part_and_escaped(lines, event, part, limit):
    """A caller can neither forge a line nor flood the log."""
    RequestLog(lambda: NOW).handle(event)

    ((_, line),) = lines()
    assert part in line
    assert line.isprintable()
    assert len(line) < limit


def test_cordon_of_an_unknown_place_is_logged_once(lines):
    """Each check finds the same cordon and warns its caller; the log needs one line per cordon."""
    log = RequestLog(lambda: NOW)

    for cordon in ('one', 'other', 'one'):
        log.handle(CordonUnknown(cordon, f'{cordon} is unknown'))
        log.handle(check(warnings=[f'{cordon} is unknown']))

    warnings = [text for level, text in lines() if level == 'WARNING']
    assert warnings == ['one is unknown', 'other is unknown']


TWO_SLOW = 'slow policies: my.two-1.0 8.0 s, my.one-1.0 5.0 s'
LATE = 'the reply is 3.0 s late, so the caller has given up; slow policies: '


def slow(**seconds):
    """Return the event of a check that expires at noon, whose policies took these times."""
    decisions = [
        Decision(name, None, f'{name.replace("_", ".")}-1.0', 1, 'APPLIED', '', took * 1000, {})
        for name, took in seconds.items()
    ]
    event = check()
    return CheckEnded(
        structs.replace(event.request, expires_at=NOW),
        structs.replace(event.reply, decisions=decisions),
        sum(seconds.values()),
        'req-1',
    )


@pytest.mark.parametrize(
    ('seconds', 'late_s', 'warning'),
    [
        ({'my_one': 4}, 9, None),
        ({'my_one': 2, 'my_two': 4}, -1, None),
        ({'my_one': 5, 'my_two': 8, 'my_three': 1}, -1, TWO_SLOW),
        ({'senlin_policy_loadbalance': 60}, -1, None),
        ({'senlin_policy_loadbalance': 60}, 3, LATE + 'senlin.policy.loadbalance-1.0 60.0 s'),
        ({'my_one': 3, 'my_two': 3}, 3, LATE + 'none'),
    ],
)
def test_slow_policies_are_named_in_a_warning(lines, seconds, late_s, warning):
    """An operator finds the policy that kept a caller waiting; load balancing waits by design."""
    RequestLog(lambda: NOW + datetime.timedelta(seconds=late_s)).handle(slow(**seconds))

    warnings = [text for level, text in lines() if level == 'WARNING']
    assert warnings == [f'{SUBJECT}{warning}'] * bool(warning)


FULL = "BEFORE CLUSTER_RESIZE 'a1' of cluster 'c1': "
REQUEST = {
    'target': 'BEFORE',
    'action': {'id': 'a1', 'action': 'CLUSTER_RESIZE'},
    'cluster': {'id': 'c1', 'nodes': [1, 2]},
    'policies': 'none',
}


NESTED = functools.reduce(lambda inner, _: [inner], range(3000), [])


@pytest.mark.parametrize('data', [{'a': float('nan'), 'b': '\ud800'}, NESTED])
def test_subject_ignores_other_keys_that_json_cannot_hold(data):
    """The line about a malformed request says which action and which cluster it is about."""
    raw = {key: {**REQUEST[key], 'data': data} for key in ('action', 'cluster')}

    assert request_log.subject_of({'target': 'BEFORE', **raw}) == FULL


@pytest.mark.parametrize('form', [json.dumps, lambda raw: raw], ids=['text', 'plain'])
@pytest.mark.parametrize(
    ('raw', 'expected'),
    [
        (REQUEST, FULL),
        ({'cluster': {'id': 'c1'}, 'policy': {}}, "Cluster 'c1': "),
        ({'action': {'id': 'a1'}}, "'a1': "),
        ({**REQUEST, 'action': [1]}, "Cluster 'c1': "),
        ({**REQUEST, 'target': 7}, "CLUSTER_RESIZE 'a1' of cluster 'c1': "),
        ({**REQUEST, 'cluster': {'id': 7}}, "BEFORE CLUSTER_RESIZE 'a1': "),
        ({**REQUEST, 'cluster': None}, "BEFORE CLUSTER_RESIZE 'a1': "),
        ({}, ''),
        ([], ''),
        (7, ''),
    ],
)
def test_subject_of_any_request_has_the_parts_that_can_be_decoded(raw, expected, form):
    """Action and cluster are named as far as the request names them, in both of its forms."""
    assert request_log.subject_of(form(raw), 10_000) == expected


@pytest.mark.parametrize('form', [json.dumps, lambda raw: raw], ids=['text', 'plain'])
def test_subject_with_hostile_names_is_short_and_on_one_line(form):
    """A caller can neither forge a line nor flood the log."""
    name = '\n\x1b' + 'x' * 1000
    raw = {'target': name, 'action': {'id': name, 'action': name}, 'cluster': {'id': name}}

    subject = request_log.subject_of(form(raw), 10_000)

    assert subject.isprintable()
    assert 'xxx' in subject
    assert len(subject) < 500


@pytest.mark.parametrize('text', ['', '{', '{"cluster": {"id": "c1"', '[' * 100_000, '\ud800'])
def test_subject_of_invalid_json_is_empty(text):
    """A request that is not JSON, or above the limit, has no subject, and raises nothing."""
    assert request_log.subject_of(text, 1_000_000) == ''
    assert request_log.subject_of(json.dumps(REQUEST), 10) == ''
