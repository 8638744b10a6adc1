"""The manual's commands that ask a running worker, on a private RabbitMQ."""

import json
import re

import pytest
import yaml

from placement_worker.rpc import SLOW_TOPIC, TOPIC, parking
from tests.broker import Broker
from tests.functional.conftest import Worker, amqp
from tests.manual import ways, workspace
from tests.manual.pages import PAGES, ROOT, blocks

pytestmark = pytest.mark.long

ASKING = [page for page in PAGES if any(
    ways.way(page.stem, command).how == ways.WORKER for block in blocks(page) for command in block.commands
)]  # fmt: skip
CLOUD = yaml.safe_load((ROOT / 'examples' / 'cloud.yaml').read_text())
HOST, PARKED = 'testhost', '0123456789ab'


@pytest.fixture(scope='module')
def worker(tmp_path_factory):
    """A worker as the manual has it, topics and all, that has decided once."""
    folder, broker = tmp_path_factory.mktemp('worker'), Broker()
    try:
        log = f'[decision_log]\nfile = {folder / "decisions.jsonl"}\n'
        names = {'host': HOST, 'topic': TOPIC, 'slow_topic': SLOW_TOPIC, 'liveness_file': folder / 'liveness'}
        worker = Worker(folder, broker.start().url, CLOUD, log, **names)
        try:
            worker.wait_until_ready()
            request = f'placement-policy check --config-file {worker.config} examples/scale-out.yaml'
            workspace.type_in(request, ROOT, workspace.environment())
            yield worker
        finally:
            worker.stop()
    finally:
        broker.close()


def fitted(command, worker):
    """The command for this worker instead of the manual's."""
    folder = worker.config.parent
    given = {
        r'/etc/placement-worker/placement-worker\.conf': str(worker.config),
        r'--config-file \.\.\.': f'--config-file {worker.config}',
        r'rabbit://user:password@127\.0\.0\.1:5672/': worker.url,
        r'/run/placement-worker/liveness': str(folder / 'liveness'),
        r'/var/log/placement-worker/decisions\.jsonl': str(folder / 'decisions.jsonl'),
        r'\bHOST\b': HOST,
        r'\bPID\b': str(worker.children()[0]),
        r'\bID\b': PARKED,
    }
    for named, ours in given.items():
        command = re.sub(named, ours, command)
    return command


def park(worker):
    """Put a request where the workers put those that kill."""
    request = json.loads(json.dumps(yaml.safe_load((ROOT / 'examples' / 'scale-in.yaml').read_text()), default=str))
    message = {'method': 'policy_check', 'args': {'request': request}, 'version': '1.0'}
    headers = {parking.PARKED_ID: PARKED, parking.PARKED_AT: '2026-01-01', parking.PARKED_FROM: TOPIC}
    envelope = {'oslo.version': '2.0', 'oslo.message': json.dumps(message)}
    with amqp(worker.url) as connection, connection.Producer() as producer:
        producer.publish(envelope, exchange='', routing_key=TOPIC + parking.PARKED, headers=headers, mandatory=True)


@pytest.mark.parametrize('page', ASKING, ids=[page.stem for page in ASKING])
def test_the_commands_that_ask_a_worker_get_an_answer(page, worker, tmp_path):
    """All of them end as they should; one that has to find a parked request finds one."""
    workspace.furnish(tmp_path, blocks(page))
    commands = [command for block in blocks(page) for command in block.commands]
    asking = [command for command in commands if ways.way(page.stem, command).how == ways.WORKER]

    for command in asking:
        if ' ID' in command:
            park(worker)
        printed = workspace.type_in(fitted(command, worker), tmp_path, workspace.environment())
        assert printed or 'liveness' in command or 'kill' in command, command
