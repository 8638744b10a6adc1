"""The commands of the manual for a running worker, on a private RabbitMQ."""

import json
import os
import re
import subprocess
import sys
from contextlib import closing

import pytest
import yaml

from placement_worker.contract.rpc import PARKING_SUFFIX, SLOW_TOPIC, TOPIC
from placement_worker.late_ack import parking
from placement_worker.late_ack.request import enveloped
from tests.broker import Broker
from tests.functional.conftest import Worker, amqp
from tests.manual import ways, workspace
from tests.manual.pages import PAGES, ROOT, blocks

pytestmark = pytest.mark.long

ASKING = [
    page
    for page in PAGES
    if any(
        ways.way(page.stem, command).how == ways.WORKER
        for block in blocks(page)
        for command in block.commands
    )
]
CLOUD = yaml.safe_load((ROOT / 'examples' / 'cloud.yaml').read_text())
HOST, PARKED = 'testhost', '0123456789ab'


@pytest.fixture(scope='module')
def broker():
    with closing(Broker()) as broker:
        yield broker.start()


@pytest.fixture(scope='module')
def worker(broker, tmp_path_factory):
    """Start a worker as in the manual, with the manual's policy, that has decided two checks."""
    folder = tmp_path_factory.mktemp('worker')
    packages = folder / 'packages'
    install = [sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps', '--target', packages]
    subprocess.run([*install, ROOT / 'examples' / 'how-to' / 'pause'], check=True)
    cordons = folder / 'cordons.yaml'
    cordons.write_text('[]')
    files = (
        f'[decision_log]\nfile = {folder / "decisions.jsonl"}\n'
        f'[placement]\ncordon_file = {cordons}\n'
    )
    names = {
        'host': HOST,
        'topic': TOPIC,
        'slow_topic': SLOW_TOPIC,
        'liveness_file': folder / 'liveness',
    }
    installed = {**os.environ, 'PYTHONPATH': str(packages)}
    worker = Worker(folder, broker.url, CLOUD, files, environment=installed, **names)
    try:
        worker.wait_until_ready()
        for name in ('scale-out', 'scale-in'):
            check = f'placement-policy check --config-file {worker.config} examples/{name}.yaml'
            workspace.type_in(check, ROOT, workspace.environment())
        yield worker
    finally:
        worker.stop()


def fitted(command, worker):
    folder = worker.config.parent
    given = {
        r'/etc/placement-worker/(placement-worker|operator)\.conf': str(worker.config),
        r'/etc/placement-worker/cordons\.yaml': str(folder / 'cordons.yaml'),
        r'--config-file \.\.\.': f'--config-file {worker.config}',
        r'rabbit://user:password@127\.0\.0\.1:5672/placement': worker.url,
        r'/run/placement-worker/liveness': str(folder / 'liveness'),
        r'/var/log/placement-worker/decisions\.jsonl': str(folder / 'decisions.jsonl'),
        r'\bHOST\b': HOST,
        r'\bPID\b': str(worker.children()[0]),
        r'\bID\b': PARKED,
    }
    for named, value in given.items():
        command = re.sub(named, value, command)
    return command


def park(worker):
    """Put a request into the parking lot that may be retried: a check AFTER an action."""
    request = json.loads(
        json.dumps(yaml.safe_load((ROOT / 'examples' / 'scale-in.yaml').read_text()), default=str)
    )
    request['target'] = 'AFTER'
    message = {'method': 'policy_check', 'args': {'request': request}, 'version': '1.0'}
    headers = {parking.PARKED_ID: PARKED, parking.PARKED_AT: 'at', parking.PARKED_FROM: TOPIC}
    parked = enveloped(message)
    parked.properties['application_headers'] = headers
    with amqp(worker.url) as connection:
        queue = TOPIC + PARKING_SUFFIX
        connection.default_channel.basic_publish(parked, exchange='', routing_key=queue)


@pytest.mark.parametrize('page', ASKING, ids=[page.stem for page in ASKING])
def test_commands_for_a_worker_succeed(page, worker, tmp_path):
    """Each command for running workers succeeds, and finds a parked request if it needs one."""
    workspace.furnish(tmp_path, blocks(page))
    commands = [command for block in blocks(page) for command in block.commands]
    asking = [command for command in commands if ways.way(page.stem, command).how == ways.WORKER]

    for command in asking:
        if ' ID' in command:
            park(worker)
        printed = workspace.type_in(fitted(command, worker), tmp_path, workspace.environment())
        assert printed or re.search('liveness|kill|install', command), command


def test_install_and_operating_name_each_queue(worker, broker):
    """The manual names each queue of a worker, so an operator can tell and delete them."""
    listed = broker.control('list_queues', 'name', 'type').splitlines()
    made = {
        line.split()[0] for line in listed if line.split()[1] == 'quorum' and line.startswith(TOPIC)
    }
    shown = {name.replace(HOST, 'HOST') for name in made}

    install, operating = (
        (ROOT / 'doc' / 'source' / f'{name}.rst').read_text() for name in ('install', 'operating')
    )
    assert [name for name in sorted(shown) if f'``{name}``' not in install] == []
    of_host = [name for name in sorted(shown) if name.endswith('.HOST')]
    assert [
        name for name in of_host if f'delete_queue -p placement {name}\n' not in operating
    ] == []
    assert len(of_host) == 3


def test_program_of_the_readme_prints_only_the_decision(worker):
    """The program of the README causes no warning of a library."""
    (program,) = [block.text for block in blocks(ROOT / 'README.rst') if block.kind == 'python']
    typed = [sys.executable, '-c', fitted(program, worker)]

    done = subprocess.run(typed, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.startswith('OK ')
    assert done.stdout.count('\n') == 1
