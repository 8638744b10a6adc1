"""A snapshot belongs to one check."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.model import Cluster, ServerDetails

WAIT_S = 60
CLUSTER = codec.decode(
    {
        'id': 'c',
        'profile': {'type': 'os.nova.server-1.0'},
        'nodes': [{'id': 'n1', 'physical_id': 's1'}],
    },
    Cluster,
)


class Slow:
    """A cloud whose answers come when all that ask have asked."""

    def __init__(self, barrier):
        self.barrier = barrier
        self.asked = []

    def regions(self):
        self.asked.append('regions')
        self.barrier.wait(WAIT_S)
        return {'R1'}

    def servers(self, region, server_ids):
        self.asked.append('servers')
        self.barrier.wait(WAIT_S)
        return {'s1': ServerDetails('az1')}


@pytest.mark.parametrize('ask', [
    lambda snapshot: snapshot.zone_of(CLUSTER.nodes[0]),
    lambda snapshot: list(snapshot.regions),
])  # fmt: skip
def test_a_check_waits_for_no_answer_to_another_one(ask):
    barrier = threading.Barrier(2)
    snapshots = [Snapshot(Slow(barrier), CLUSTER) for _ in range(2)]

    with ThreadPoolExecutor() as threads:
        answers = list(threads.map(ask, snapshots))

    assert answers[0] == answers[1]


def test_each_question_is_asked_once():
    cloud = Slow(threading.Barrier(1))
    snapshot = Snapshot(cloud, CLUSTER)

    for _ in range(3):
        assert snapshot.regions == {'R1'}
        assert snapshot.zone_of(CLUSTER.nodes[0]) == 'az1'

    assert sorted(cloud.asked) == ['regions', 'servers']
