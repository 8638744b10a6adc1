"""The programs of `examples/engine-client`, which the manual shows."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

EXAMPLES = Path(__file__).parents[2] / 'examples'
REQUEST = EXAMPLES.parent / 'doc' / 'source' / 'exchanges' / 'scale-in-before.request.json'
RUN_S = 120


@pytest.fixture(scope='module')
def worker(start_worker):
    """A worker with the names that the programs use."""
    cloud = yaml.safe_load((EXAMPLES / 'cloud.yaml').read_text())
    return start_worker(cloud, topic='placement-worker')


def run(program, *arguments):
    """Run a program of the manual and return the lines that it prints."""
    command = [sys.executable, str(EXAMPLES / 'engine-client' / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


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


def test_pika_client_prints_the_replies_to_a_call_and_to_a_cast(worker):
    """The program without oslo.messaging gets both replies."""
    url = worker.url.replace('rabbit://', 'amqp://')

    printed = run('pika_client.py', url, str(REQUEST))

    assert printed == ['called: OK', 'cast: req-1 OK']
