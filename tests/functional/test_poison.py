"""Poison messages: requests that crash their processes are parked, and harm no others."""

import functools
import json
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from placement_worker.cmd import types
from placement_worker.contract.rpc import PARKING_SUFFIX
from placement_worker.errors import RequestParked
from tests.functional.conftest import amqp, run
from tests.functional.engine import TO, Engine, slow
from tests.waiting import wait_for

pytestmark = pytest.mark.long

MAX_DELIVERIES = 2
PARKED = (
    'The request was in flight when processes died, and is parked in {}-parked; '
    'run placement-policy parked list --config-file FILE'
)
# How long a request lives: the last test retries one, after minutes on a slow machine.
BEYOND_THE_TESTS_S = 3600


@pytest.fixture(scope='module')
def poisoned(start_worker, tmp_path_factory):
    """Call a worker with 50 requests and a poison message; return worker, results and runs."""
    worker = start_worker(workers=2, threads=4, max_deliveries=MAX_DELIVERIES)
    runs = tmp_path_factory.mktemp('runs') / 'runs'
    secret = {'credentials': {'trust_id': 'hunter2'}}
    poison = slow(0, runs, 'poison', signal=signal.SIGKILL) | secret

    def call(client, asked):
        context = {'request_id': f'request-{asked["action"]["id"]}'}
        try:
            return client.policy_check(asked, context).action.data['status']
        except RequestParked as exc:
            return str(exc)

    with (
        closing(worker.client(timeout_s=BEYOND_THE_TESTS_S)) as client,
        ThreadPoolExecutor(51) as callers,
    ):
        asked = [slow(0.2, runs, f'good-{n}') for n in range(50)]
        asked.insert(10, poison)
        answers = list(callers.map(functools.partial(call, client), asked))
    return worker, answers, runs.read_text().split()


def parked(worker, *arguments):
    return run('placement-policy', 'parked', *arguments, '--config-file', worker.config)


def listed(worker):
    return json.loads(parked(worker, 'list', '-f', 'json').stdout)


def parked_messages(worker):
    """Return headers and body of each message in the parking lot, as any AMQP client gets them."""
    with amqp(worker.url) as connection:
        channel = connection.channel()
        queue = f'{worker.topic}{PARKING_SUFFIX}'
        return [
            {'headers': message.headers, 'body': json.loads(message.body)}
            for message in iter(lambda: channel.basic_get(queue), None)
        ]


def schema_problems(parked):
    """Return where a parked message and the texts in it do not fit their schemas."""
    document = json.loads(types.message_schema('parked_request'))
    sent = json.loads(parked['body']['oslo.message'])
    request = sent['args']['request']
    pairs = [
        (document, parked),
        ({'$ref': '#/$defs/SentMessage', '$defs': document['$defs']}, sent),
        (json.loads(types.message_schema(f'{sent["method"]}.request')),
         json.loads(request) if isinstance(request, str) else request),
    ]  # fmt: skip
    checker = FormatChecker()
    return [
        f'{problem.json_path}: {problem.message}'
        for described, data in pairs
        for problem in Draft202012Validator(described, format_checker=checker).iter_errors(data)
    ]


def test_poison_message_is_reported_to_its_caller_and_harms_no_other_request(poisoned):
    """The caller of a poison message gets an error, and all other callers get their replies."""
    worker, answers, _ = poisoned

    assert answers.pop(10) == PARKED.format(worker.topic)
    assert answers == ['OK'] * 50


def test_poison_message_runs_a_bounded_number_of_times(poisoned):
    """A poison message crashes as many processes as its limits allow."""
    _, _, runs = poisoned

    assert runs.count('poison') == MAX_DELIVERIES + 1  # the last one in isolation


def test_parked_show_hides_the_secrets_of_a_request(poisoned):
    """An operator can inspect a parked request without seeing its credentials."""
    worker, _, _ = poisoned

    (row,) = listed(worker)
    shown = parked(worker, 'show', row['id'])

    cells = [row[key] for key in ('topic', 'method', 'action', 'action_id', 'request_id')]
    of_call = ['policy_check', 'CLUSTER_SCALE_OUT', 'poison', 'request-poison']
    assert cells == [worker.topic, *of_call]
    assert json.loads(shown.stdout)['args']['request']['action']['id'] == 'poison'
    assert 'hunter2' not in shown.stdout
    assert '"trust_id": "***"' in shown.stdout
    assert row['id'] in parked(worker, 'list').stdout


def test_parked_call_fits_its_schema(poisoned):
    """Headers, envelope, message and request of a parked call fit the schemas of the package."""
    worker, _, _ = poisoned

    (parked_call,) = wait_for(lambda: parked_messages(worker))

    assert schema_problems(parked_call) == []
    assert '_reply_q' in json.loads(parked_call['body']['oslo.message'])
    assert parked_call['headers']['parked-from'] == worker.topic


def test_parked_commands_with_an_unknown_id_change_nothing(poisoned):
    """A command for a request that is not parked fails and names the command that lists them."""
    worker, _, _ = poisoned

    for command in ('show', 'retry', 'drop'):
        done = parked(worker, command, 'nothing')
        assert (done.returncode, done.stdout) == (2, '')
        assert done.stderr == (
            f'placement-policy parked {command}: No parked request nothing; '
            'run "placement-policy parked list" for the parked requests\n'
        )


def test_retried_poison_message_is_parked_again_and_can_be_dropped(poisoned):
    """A poison message that is retried returns to the parking lot, and dropping deletes it."""
    worker, _, _ = poisoned
    (row,) = listed(worker)

    assert parked(worker, 'retry', row['id']).returncode == 2
    retried = parked(worker, 'retry', row['id'], '--force')
    assert retried.stdout == (
        f'Sent {row["id"]} to {worker.topic}; if it is parked again, its ID changes.\n'
    )
    assert 'Warning: This is a check BEFORE an action' in retried.stderr

    (again,) = wait_for(lambda: [other for other in listed(worker) if other['id'] != row['id']])
    assert again['action_id'] == 'poison'
    (parked_again,) = wait_for(lambda: parked_messages(worker))
    assert schema_problems(parked_again) == []
    assert parked_again['headers']['retried'] == row['id']
    assert parked(worker, 'drop', again['id']).stdout == f'Deleted {again["id"]}.\n'
    assert parked(worker, 'list').stdout == 'No parked requests.\n'


def test_parked_cast_gets_the_error_as_its_reply(poisoned, tmp_path):
    """The engine that casts a poison message gets RequestParked as the reply."""
    worker, _, _ = poisoned
    runs = tmp_path / 'runs'
    with closing(worker.client()) as client, closing(Engine(worker, runs)) as engine:
        client.cast_check(
            slow(0, runs, 'poison-cast', signal=signal.SIGKILL), TO, {'request_id': 'request-cast'}
        )
        wait_for(lambda: 'request-cast' in engine.received)

    error = {'type': 'RequestParked', 'message': PARKED.format(worker.topic)}
    assert json.loads(engine.received['request-cast'])['error'] == error
    (parked_cast,) = wait_for(lambda: parked_messages(worker))
    assert schema_problems(parked_cast) == []
    assert '_reply_q' not in json.loads(parked_cast['body']['oslo.message'])


@pytest.mark.parametrize(
    ('ends', 'end', 'stack'),
    [
        ({'signal': signal.SIGSEGV}, 'was killed by SIGSEGV', True),
        ({'status': 3}, 'exited with status 3', False),
    ],
    ids=['crash', 'exit'],
)
def test_process_that_a_plugin_ends_is_logged_with_its_end(start_worker, ends, end, stack):
    """An operator finds the end of a process in the log, and the policy in the stack of a crash."""
    worker = start_worker(workers=1, max_deliveries=1)

    with closing(worker.client()) as client, pytest.raises(RequestParked):
        client.policy_check(slow(0, **ends))

    assert f'Process 0 of the worker {end}; another process' in (worker.log.read_text())
    printed = worker.stderr.read_text()
    assert ('Fatal Python error: Segmentation fault' in printed) is stack
    assert bool(re.search(r'slow_policy\.py", line \d+ in check', printed)) is stack
