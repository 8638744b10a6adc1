"""The commands on the parking lot: what they show, mask, and refuse to send."""

import contextlib
import json
from types import SimpleNamespace

import pytest

from placement_worker.cmd import remote
from placement_worker.late_ack import parking
from tests import hostile_requests
from tests.factories import bind, request, zone_policy

CONTEXT = {
    '_context_request_id': 'req-1',
    '_context_global_request_id': 'req-0',
    '_context_user_id': 'u1',
    '_context_project_id': 'p1',
    '_context_auth_token': 'secret-1',
    '_context_password': 'secret-2',
    '_context_trusts': 'secret-3',
    '_context_user_name': 'secret-4',
    '_context_service_catalog': [{'adminURL': 'secret-5'}],
}


@pytest.fixture
def look(program, monkeypatch):
    """Run a command on one parked request; return exit status, output and errors."""

    def looked(body, *arguments, parked_at='now'):
        one = SimpleNamespace(id='7', parked_at=parked_at, topic='t', body=body)
        monkeypatch.setattr(
            remote, 'parked', lambda *_: contextlib.nullcontext((None, iter([one])))
        )
        return program('parked', *arguments, '--transport', 'rabbit://h/')

    return looked


def sent(asked):
    """Return a call in the format of oslo.messaging: nested JSON strings."""
    message = {'method': 'policy_check', 'args': {'request': asked}, **CONTEXT}
    return json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(message)})


def test_parked_show_masks_secrets_and_keeps_only_ids_of_the_context(look):
    """A parked request is shown without secrets, and its context is reduced to ids."""
    data = {'admin_password': 'secret-6', 'pin': {'pwd': 77123}}
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], data=data)
    asked['credentials'] = {'trust_id': 'secret-7'}
    asked['action']['inputs'] = {'hook': 'https://user:secret-8@host/?token=secret-9'}

    status, out, _ = look(sent(json.dumps(asked)), 'show', '7')

    message = json.loads(out)
    shown = message.pop('args')['request']
    assert (status, 'secret-' in out, '77123' in out) == (0, False, False)
    assert message == {
        'method': 'policy_check',
        '_context_request_id': 'req-1',
        '_context_global_request_id': 'req-0',
        '_context_user_id': 'u1',
        '_context_project_id': 'p1',
    }
    assert shown['action']['action'] == 'CLUSTER_SCALE_OUT'
    assert shown['credentials'] == {'trust_id': '***'}
    assert shown['action']['inputs'] == {'hook': 'https://***@host/?token=***'}


@pytest.mark.parametrize(
    ('body', 'shown'),
    [
        ('hello', '"hello"'),
        ('{"trust_id": "secret-1"', '"***"'),
        (b'{"trust_id": "secret-1", "\xff', '"***"'),
        (json.dumps({'oslo.message': '{"auth_token": "secret-1"'}), '"***"'),
        (sent('{"trust_id": "secret-1"'), '"request": "***"'),
        ('{"password": "secret-1", "a": ' + '[' * 100_000 + ']' * 100_000 + '}', '"***"'),
    ],
    ids=['text', 'a part', 'bytes', 'a part of a message', 'a part of a request', 'deep'],
)
def test_parked_show_of_malformed_text_masks_possible_secrets(look, body, shown):
    """A malformed message is shown as text, or masked if it may hold secrets."""
    status, out, _ = look(body, 'show', '7')

    assert (status, shown in out, 'secret-' in out) == (0, True, False)


def test_parked_show_of_deeply_nested_json_succeeds_or_fails_in_one_line(look):
    """A request of any nesting depth is shown, or refused in one line."""
    refused = (
        'placement-policy parked show: A value is nested too deeply for the format json; '
        'use another format; correct the option\n'
    )
    for depth in range(880, 1000, 10):
        status, out, err = look('[' * depth + ']' * depth, 'show', '7')

        assert (status, bool(out), err) in ((0, True, ''), (2, False, refused))


@pytest.mark.parametrize(
    ('how', 'error'),
    [
        ('list -f yaml', ''),
        ('show 7 -f yaml', 'nested too deeply for the format yaml; use another format'),
        ('show 7 -f json', ''),
    ],
)
def test_parked_with_deep_values_is_output_or_names_another_format(look, how, error):
    """The list shortens values that should be text; YAML needs more depth than JSON."""
    deep = json.loads('[' * 400 + ']' * 400)
    asked = {'action': {'action': deep, 'id': deep}, 'cluster': {'name': deep}}

    status, _, err = look(sent(asked), *how.split())

    assert (status, err == '', error in err) == (2 if error else 0, not error, True)


def test_parked_list_of_an_attachment_names_cluster_project_policy_and_end(look):
    """An operator recognizes an attachment, which has no action, and sees when it expires."""
    end = '2026-11-22T16:00:00+00:00'
    asked = json.dumps(bind(zone_policy('a'), expires_at=end))

    _, out, _ = look(sent(asked), 'list', '-f', 'json')

    assert json.loads(out) == [
        {
            'id': '7', 'parked_at': 'now', 'topic': 't', 'method': 'policy_check',
            'request_id': 'req-1', 'action': None, 'action_id': None, 'cluster': 'c1',
            'cluster_name': 'web', 'project': 'p1', 'clusters': ['web'],
            'policy': 'pol-zone_placement', 'expires_at': end, 'bytes': len(sent(asked)),
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    'how',
    [
        ('list',),
        *(('list', '-f', form) for form in ('json', 'yaml', 'csv', 'value', 'jsonl')),
        *(('show', '7', '-f', form) for form in ('json', 'yaml', 'table', 'value')),
    ],
)
def test_parked_with_a_hostile_message_shows_what_was_sent_escaped(look, how):
    """Neither escape characters nor lone surrogates have an effect on the operator's terminal."""
    evil = hostile_requests.TEXT
    asked = {'action': {'action': evil, 'id': evil}, evil: 1}
    message = {'method': evil, 'args': {'request': asked}, '_context_request_id': evil, evil: 1}
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(message)})

    status, out, err = look(body, *how)
    surrogate = look('{"method": "\\ud800", "args": {}}', *how)

    assert (status, err, hostile_requests.raw(out)) == (0, '', [])
    assert 'evil\\n\\r\\t' in out.replace('\\\\', '\\')  # CSV escapes the backslash
    assert (surrogate[0], hostile_requests.raw(surrogate[1])) == (0, [])
    assert '\\ud800' in surrogate[1].lower()


PAST, LATER = '2000-01-01T00:00:00', '2999-01-01T00:00:00Z'
EXPIRED = f'The request expired at {PAST}'
BEFORE = 'This is a check BEFORE an action, '


@pytest.mark.parametrize(
    ('method', 'asked', 'warning'),
    [
        ('policy_check', {'target': 'BEFORE'}, BEFORE),
        ('policy_check', {'target': 'BEFORE', 'expires_at': LATER}, BEFORE),
        ('policy_check', {'target': 'BEFORE', 'expires_at': PAST}, EXPIRED),
        ('policy_check', {'target': 'AFTER', 'expires_at': PAST}, EXPIRED),
        ('policy_attach', {}, 'The caller of policy_attach has got RequestParked'),
        ('policy_detach', {}, 'The caller of policy_detach has got RequestParked'),
        ('policy_check', {'target': 'AFTER'}, None),
        ('policy_check', {'target': 'AFTER', 'expires_at': LATER}, None),
        ('policy_check', {'target': 'AFTER', 'expires_at': 'soon'}, None),
        ('policy_check', {'expires_at': []}, None),
        ('policy_check', [], None),
        (['policy_check'], None, None),
    ],
)
def test_parked_retry_that_a_warning_advises_against_needs_force(
    look, monkeypatch, method, asked, warning
):
    """An operator reads the warning before a worker carries out the request, not after."""
    retried = []
    monkeypatch.setattr(parking, 'retry', lambda _, one: retried.append(one.id))
    body = json.dumps({'method': method, 'args': {'request': asked}})

    status, out, err = look(body, 'retry', '7')
    forced = look(body, 'retry', '7', '--force')

    assert forced[:2] == (0, 'Sent 7 to t; if it is parked again, its ID changes.\n')
    if warning:
        assert (status, out, retried) == (2, '', ['7'])
        assert err.startswith(f'placement-policy parked retry: Warning: {warning}')
        assert 'drop such a request' in err
        assert 'Did not send 7; to send it all the same, add --force' in err
    else:
        assert (status, out, err, retried) == (0, forced[1], '', ['7', '7'])


def test_parked_drop_with_an_unknown_hostile_id_prints_one_printable_line(look):
    """An id of the command line is escaped like an id of a message."""
    status, out, err = look('{}', 'drop', hostile_requests.TEXT)

    assert (status, out, hostile_requests.raw(err), err.count('\n')) == (2, '', [], 1)


OUT = {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT'}


@pytest.mark.parametrize(
    ('asked', 'parked_at', 'row'),
    [
        ({'action': OUT, 'cluster': {'id': 'c9', 'name': 'web'}}, 'now',
         '| 7  | now       | CLUSTER_SCALE_OUT | web     |'),
        ({'action': OUT, 'cluster': {'id': 'web'}}, 'now',
         '| 7  | now       | CLUSTER_SCALE_OUT | web     |'),
        ({'action': OUT, 'cluster': {}}, None,
         '| 7  | (not parked by a worker) | CLUSTER_SCALE_OUT | -       |'),
        *((malformed, 'now', '| 7  | now       | policy_check | -       |')
          for malformed in ([], {'cluster': [], 'policy': 'p'}, {'cluster': {'id': 7}}, 1)),
    ],
)  # fmt: skip
def test_parked_list_has_what_an_operator_needs_to_recognize_a_request(look, asked, parked_at, row):
    """The table fits on a screen, and a request without the objects of the contract is listed."""
    status, out, _ = look(sent(json.dumps(asked)), 'list', parked_at=parked_at)

    _, titles, _, cells, _ = out.splitlines()
    assert ' '.join(titles.split()) == '| id | parked at | request | cluster |'
    assert (status, cells) == (0, row)
