"""Partitions of a RabbitMQ cluster under load: hosts that drop each other's packets.

Each cut meets two loads: `on`, whose connections and those of its worker were on the node that is
cut, and `away`, whose were on another one. That decides most results.
"""

import contextlib
import subprocess
import tempfile
import time

import pytest

from tests.cluster import Cluster
from tests.functional.outages import load as loads
from tests.functional.outages.load import SLACK_S, Load
from tests.functional.outages.network import Network
from tests.functional.test_notifications import DRIVER
from tests.waiting import wait_for

NODES = A, B, C = 'rabbit-a', 'rabbit-b', 'rabbit-c'
ARMS = {'on': A, 'away': C}  # the node of the connections
CLIENTS, WORKERS = ({arm: f'{group}-{arm}' for arm in ARMS} for group in ('clients', 'workers'))
REST = {B, C, *CLIENTS.values(), *WORKERS.values()}
CUTS = {
    'follower': ({A}, REST),
    'leader': ({A}, REST),
    'clients and one node': ({A, *CLIENTS.values()}, {B, C, *WORKERS.values()}),
    'partial': ({A}, {B}),
    'vanished host': ({A}, REST),  # with a worker in it
}
LEADERS = {'follower': B, 'leader': A}  # of all queues
SETTINGS = 'cluster_partition_handling = pause_minority\nnet_ticktime = 8\n'  # of page install
POLICY = '{"consumer-disconnected-timeout": 10000}'  # of the manual, for RabbitMQ 4.3
BEYOND_S = 15  # of the timeout of calls, beyond the length of the cut
CALLS = 'call', 'stock'
WARM_S, QUIET_S = 3, 30
THREADS = 32  # of a worker, so that it catches up
# Elect a leader for each queue, then close all connections, which come back where they are placed.
PLACE = """
[begin
    {{Name, Leader}} = amqqueue:get_pid(Q),
    [ra:transfer_leadership({{Name, Leader}}, {{Name, Node}})
        || Node <- [{leaders}], Node =/= Leader]
end || Q <- rabbit_amqqueue:list(), amqqueue:get_type(Q) =:= rabbit_quorum_queue],
[rabbit_networking:close_connection(Pid, "placed") || Pid <- rabbit_networking:connections()].
"""


@pytest.fixture(scope='module')
def network(tmp_path_factory):
    try:
        names = [*NODES, *CLIENTS.values(), *WORKERS.values()]
        return Network(names, tmp_path_factory.mktemp('network'))
    except (OSError, subprocess.CalledProcessError) as exc:
        pytest.skip(f'no network namespaces: {exc}')


@pytest.fixture(scope='module')
def cluster(network):
    with pytest.MonkeyPatch.context() as patch:
        # Three nodes that sync to one disk would measure that disk.
        patch.setattr(tempfile, 'tempdir', '/dev/shm')  # noqa: S108
        nodes = Cluster([network.hosts[name] for name in NODES], SETTINGS)
    try:
        nodes.start()
        with contextlib.suppress(subprocess.CalledProcessError):  # before RabbitMQ 4.3
            nodes.nodes[0].control('set_policy', '--apply-to', 'quorum_queues', 'test', '^', POLICY)
        yield nodes
    finally:
        nodes.close()


@pytest.fixture(scope='module')
def serve(network, cluster, start_worker):
    """Start a worker of a load on a host, with its connections on the node of the load."""

    def start(arm, host):
        others = {*NODES} - {ARMS[arm]}
        options = {'topic': f'test-{arm}', 'host': host, 'threads': THREADS}
        with network.placed(host, others), network.hosts[host].inside():
            return start_worker(DRIVER.format(f'audit-{arm}'), url=cluster.url, **options)

    return start


@pytest.fixture(scope='module')
def workers(serve):
    return {arm: [serve(arm, WORKERS[arm])] for arm in ARMS}


@pytest.mark.parametrize(
    'seconds',
    [pytest.param(10, marks=pytest.mark.long), pytest.param(30, marks=pytest.mark.outage)],
)
@pytest.mark.parametrize('case', CUTS)
def test_partition_loses_nothing_and_leaves_no_trouble_behind(
    case, seconds, network, cluster, workers, serve, tmp_path, monkeypatch
):
    """A partition loses no cast, no notification and no call that can wait for its end, and calls
    pause no longer than those of the stock client.
    """
    loads.count_attempts(monkeypatch)
    serving = {arm: list(workers[arm]) for arm in ARMS}
    if case == 'vanished host':
        for arm in ARMS:
            serving[arm].append(serve(arm, A))
    running, problems = {}, []
    with contextlib.ExitStack() as stack:
        with contextlib.ExitStack() as placing:
            for arm, node in ARMS.items():
                for host in (CLIENTS[arm], WORKERS[arm]):
                    placing.enter_context(network.placed(host, {*NODES} - {node}))
            leader = LEADERS.get(case)
            leaders = [f"'{node.name}'" for node in cluster.nodes if node.host.name == leader]
            cluster.nodes[0].control('eval', PLACE.format(leaders=''.join(leaders)))
            for arm in ARMS:
                urls, runs = (cluster.url, cluster.nodes[2].url), tmp_path / f'runs-{arm}'
                with network.hosts[CLIENTS[arm]].inside():
                    running[arm] = Load(
                        serving[arm], *urls, f'audit-{arm}', runs, seconds + BEYOND_S
                    )
                stack.callback(running[arm].close)
            time.sleep(WARM_S)
        with network.cut(*CUTS[case]):
            time.sleep(seconds)
        healed = time.monotonic()
        with contextlib.suppress(AssertionError):
            wait_for(lambda: all(load.is_quiet() for load in running.values()), QUIET_S)
        quiet_s = time.monotonic() - healed
        for arm, load in running.items():
            with network.hosts[CLIENTS[arm]].inside():
                load.end()
            print(f'{case}, {seconds} s, {arm}: {load}, quiet after {quiet_s:.0f} s')
            problems += [f'{arm}: {problem}' for problem in load.problems()]
    paused_s, stock_s = (max(load.pause(kind) for load in running.values()) for kind in CALLS)
    assert problems == []
    assert paused_s < stock_s + SLACK_S, 'calls pause for longer than those of the stock client'
    assert quiet_s < QUIET_S, 'requests still wait'
