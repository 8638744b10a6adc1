"""Test with a worker process on the broker of TRANSPORT_URL."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import tenacity
import yaml

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.errors import NoWorkerAnswered

HERE = Path(__file__).parent


@tenacity.retry(
    retry=tenacity.retry_if_exception_type(NoWorkerAnswered),
    stop=tenacity.stop_after_delay(60),
    wait=tenacity.wait_fixed(0.2),
    reraise=True,
)
def wait_until_ready(worker: subprocess.Popen[bytes], client: PolicyClient) -> None:
    """Wait until a worker replies, for a minute at most."""
    assert worker.poll() is None, 'the worker has ended; stderr has the cause'
    client.get_capabilities()


@pytest.fixture(scope='session')
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyClient]:
    """Start a worker with topics of its own, wait until it replies, and stop it at the end."""
    url, fast = os.environ['TRANSPORT_URL'], f'test-{uuid.uuid4()}'
    slow, config = f'{fast}-slow', tmp_path_factory.mktemp('worker') / 'worker.conf'
    config.write_text(
        f'[DEFAULT]\ntransport_url = {url}\n'
        f'[worker]\nworkers = 1\ntopic = {fast}\nslow_topic = {slow}\n'
        f'[cloud]\nbackend = inventory\ninventory_file = {HERE / "cloud.yaml"}\n'
    )
    client = PolicyClient(url, topic=fast, slow_topic=slow, timeout_s=30)
    with subprocess.Popen(['placement-worker', '--config-file', str(config)]) as worker:
        try:
            wait_until_ready(worker, client)
            yield client
        finally:
            client.close()
            worker.terminate()


def test_worker_places_a_new_node(client: PolicyClient) -> None:
    """The worker reads the engine's cluster and chooses the empty zone."""
    action = {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 1}}
    stored = yaml.safe_load((HERE / 'cluster.yaml').read_text())
    reply = client.policy_check({'target': 'BEFORE', 'action': action, **stored})
    assert reply.action.data['placement']['placements'] == [{'zone': 'az3'}]
