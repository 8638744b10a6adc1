"""Checks and updates with many servers.

These tests run last: their servers remain, and each later lookup would list them.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.factories import deletion_policy, request, zone_policy
from tests.integration import trusts
from tests.integration.checks import SERVERS, decided, sent
from tests.integration.clusters import succeeded

TOGETHER_S = 30
STOCK = 100  # servers that become nodes; more than a worker handles in that time


def test_zones_of_many_servers_need_one_request_per_page(openstack, make_endpoints, trust):
    """The zones of 500 servers are looked up with one request per page."""
    members = trusts.as_nodes(openstack.add_servers(500))
    policies = [zone_policy(('az1', 200), 'az2', 'az3'), deletion_policy('OLDEST_FIRST')]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 100})
    asked['cluster']['project'] = trusts.project_of(openstack)
    asked['credentials'] = {'trust_id': trust()}
    existing = len(list(openstack.connect('demo').compute.servers(details=False)))

    with openstack.nova('RegionOne').watch() as nova:
        data = decided(make_endpoints().policy_check(asked))

    assert data['deletion']['zones'] == {'az2': 50, 'az3': 50}
    assert len(data['deletion']['candidates']) == 100
    assert len(sent(nova, SERVERS)) <= -(-existing // 1000)
    assert len(sent(nova)) == len(sent(nova, SERVERS)) + 1, 'no request per node'


@pytest.mark.long
@pytest.mark.usefixtures('row_locks')
def test_two_workers_at_one_pool_leave_expected_members(openstack, cluster):
    """Two workers that change one pool lose no member and leave none behind."""
    web = cluster(2)
    succeeded(web.attach())
    stocks = [trusts.as_nodes(openstack.add_servers(STOCK)) for _ in range(2)]
    ends = time.monotonic() + TOGETHER_S

    def work(stock):
        """Create single nodes, delete every third one, and return the expected members."""
        mine = web.twin()
        nodes: list[str] = []
        while stock and time.monotonic() < ends:
            nodes.append(mine.adopt(stock.pop()))
            succeeded(mine.check('AFTER', 'NODE_CREATE', node=mine.node(nodes[-1])))
            if len(nodes) % 3 == 0:
                gone = nodes.pop(0)
                succeeded(mine.check('BEFORE', 'NODE_DELETE', node=mine.node(gone)))
                mine.remove([gone])
        return {mine.node(node_id)['data']['lb_member'] for node_id in nodes}

    with ThreadPoolExecutor(2) as workers:
        kept = list(workers.map(work, stocks))

    expected = {node['data']['lb_member'] for node in web.nodes}.union(*kept)
    assert min(map(len, kept)) >= 2
    assert web.member_ids() == expected
    web.end()
