"""Running workers log their decisions, and the log is replayed."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.factories import deletion_policy, nodes, request, zone_policy
from tests.functional.conftest import run


@pytest.fixture
def decisions(tmp_path):
    return tmp_path / 'decisions.jsonl'


def test_decision_log_of_two_processes_survives_a_rotation(start_worker, decisions):
    """Decisions of two processes are recorded across a rotation and replay the same."""
    worker = start_worker(f'[decision_log]\nfile = {decisions}\n', workers=2)
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
    replayed = run('placement-policy', 'replay', moved, decisions)

    assert decisions.exists()
    assert {line['request']['action']['id']: line['reply']['action']['data'] for line in lines} == {
        f'act-{number}': reply for number, reply in enumerate(replies)
    }
    assert 'trust-1' not in moved.read_text() + decisions.read_text()
    assert (replayed.returncode, replayed.stderr) == (0, '')
    assert replayed.stdout.startswith('80 decisions replayed')
