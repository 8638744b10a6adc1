"""The programs of `examples/engine-client`, which the manual shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from placement_worker.contract.rpc import EXCHANGE
from tests.functional.conftest import amqp as amqp_connection

EXAMPLES = Path(__file__).parents[2] / 'examples'
REQUEST = EXAMPLES.parent / 'doc' / 'source' / 'exchanges' / 'scale-in-before.request.json'
RUN_S = 120


@pytest.fixture(scope='module')
def worker(start_worker):
    """A worker with the names that the programs use."""
    cloud = yaml.safe_load((EXAMPLES / 'cloud.yaml').read_text())
    return start_worker(cloud=cloud, topic='placement-worker')


def ended(program, *arguments):
    command = [sys.executable, str(EXAMPLES / 'engine-client' / program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)


def run(program, *arguments):
    done = ended(program, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def run_in_vain(program, *arguments):
    done = ended(program, *arguments)
    assert (done.returncode, done.stdout) == (1, '')
    return done.stderr


def test_casts_of_two_files_print_two_replies(worker, tmp_path):
    """The program that casts and serves replies prints one line per request."""
    refused = tmp_path / 'refused.yaml'
    request = yaml.safe_load((EXAMPLES / 'scale-in.yaml').read_text())
    request['policies'][0]['spec']['type'] = 'no.such.policy'
    refused.write_text(yaml.safe_dump(request))

    printed = run('casts.py', worker.url, str(EXAMPLES / 'scale-in.yaml'), str(refused))

    decided, failed = sorted(printed, key=lambda line: 'PolicyTypeNotFound' in line)
    assert decided == f'{EXAMPLES}/scale-in.yaml: OK: Candidates generated'
    assert failed.startswith(f'{refused}: PolicyTypeNotFound: ')


def amqp_url(rabbit_url):
    """Return the URL of a broker for programs without oslo.messaging."""
    return rabbit_url.replace('rabbit://', 'amqp://')


def test_pika_client_prints_the_replies_to_a_call_and_to_a_cast(worker):
    """The program without oslo.messaging gets both replies."""
    assert run('pika_client.py', amqp_url(worker.url), str(REQUEST)) == ['called: OK', 'cast: OK']


def test_pika_client_with_a_refused_request_prints_two_errors_without_a_traceback(worker, tmp_path):
    """The program shows the class of a failure, and not the traceback of the worker."""
    refused = tmp_path / 'refused.json'
    refused.write_text(json.dumps({**json.loads(REQUEST.read_text()), 'target': 'BEFOR'}))

    called, cast = run('pika_client.py', amqp_url(worker.url), str(refused))

    assert called == 'called: InvalidRequest'
    assert cast.startswith("cast: {'type': 'InvalidRequest', 'message': 'Expected one of ")


def test_pika_client_without_a_worker_prints_the_cause_and_exits(own_broker):
    """A broker without the exchange or without a queue gives one line, and no traceback."""
    url = amqp_url(own_broker.url)

    without_exchange = run_in_vain('pika_client.py', url, str(REQUEST))
    with amqp_connection(own_broker.url) as connection:
        connection.channel().exchange_declare(EXCHANGE, 'topic', durable=True, auto_delete=False)
    without_queue = run_in_vain('pika_client.py', url, str(REQUEST))

    assert without_exchange.startswith('The broker did not accept the request: (404, ')
    assert without_queue.startswith('The broker did not accept the request: 1 unroutable message')
