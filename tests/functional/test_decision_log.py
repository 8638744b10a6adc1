"""Running workers log their decisions, and the log is replayed."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.factories import deletion_policy, nodes, request, zone_policy

CLOUD = {'zones': {'a': True, 'b': True}}


@pytest.fixture
def decisions(tmp_path):
    """The log of the worker."""
    return tmp_path / 'decisions.jsonl'


def test_decision_log_of_two_processes_survives_a_rotation(start_worker, decisions):
    """Decisions of two processes are recorded across a rotation and replay the same."""
    worker = start_worker(CLOUD, f'[decision_log]\nfile = {decisions}\n', workers=2)
    policies = [zone_policy('a', 'b'), deletion_policy('RANDOM')]
    moved = decisions.with_suffix('.1')

    with closing(worker.client()) as client, ThreadPoolExecutor(8) as callers:

        def check(number):
            asked = request('CLUSTER_SCALE_IN', policies, nodes(a=20, b=8), id=f'act-{number}')
            return client.policy_check(
                {**asked, 'credentials': {'trust_id': 'trust-1'}}
            ).action.data

        replies = list(callers.map(check, range(40)))
        decisions.rename(moved)
        replies += callers.map(check, range(40, 80))
    lines = [
        json.loads(line) for path in (moved, decisions) for line in path.read_text().splitlines()
    ]
    replayed = subprocess.run(
        [sys.executable, '-m', 'placement_worker', 'replay', moved, decisions],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert decisions.exists()
    assert {line['request']['action']['id']: line['reply']['action']['data'] for line in lines} == {
        f'act-{number}': reply for number, reply in enumerate(replies)
    }
    assert 'trust-1' not in moved.read_text() + decisions.read_text()
    assert (replayed.returncode, replayed.stderr) == (0, '')
    assert replayed.stdout.startswith('80 decisions replayed')


def test_worker_with_an_unwritable_decision_log_does_not_start(tmp_path, broker_url):
    """A worker whose decision log cannot be written exits with an error."""
    (tmp_path / 'cloud').write_text(json.dumps(CLOUD))
    (tmp_path / 'c').write_text(
        f'[DEFAULT]\ntransport_url = {broker_url}\n'
        f'[cloud]\nbackend = inventory\ninventory_file = {tmp_path}/cloud\n'
        f'[decision_log]\nfile = {tmp_path}/none/log\n'
    )
    program = Path(sys.executable).with_name('placement-worker')

    done = subprocess.run(
        [program, '--config-file', tmp_path / 'c'],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 2
    assert done.stderr == (
        f'placement-worker: Cannot write [decision_log] file: {tmp_path}/none/log: No such file or '
        'directory; create its folder and let the user of the worker write to it '
        f'(read: {tmp_path}/c)\n'
    )
