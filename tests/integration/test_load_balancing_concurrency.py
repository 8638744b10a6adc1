"""Concurrent workers that change one pool of Octavia."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration import trusts
from tests.integration.clusters import remaining

TOGETHER_S = 60
STOCK = 200  # servers that become nodes; more than a worker handles in a minute


@pytest.mark.long
@pytest.mark.usefixtures('row_locks')
def test_two_workers_at_one_pool_leave_expected_members(openstack, cluster):
    """Two workers that change one pool for a minute lose no member and leave none behind."""
    web = cluster(2)
    assert web.attach()['status'] == 'OK'
    stocks = [trusts.as_nodes(openstack.add_servers(STOCK)) for _ in range(2)]
    ends = time.monotonic() + TOGETHER_S

    def work(stock):
        """Create single nodes, delete every third one, and return the expected members."""
        mine = web.twin()
        nodes: list[str] = []
        while stock and time.monotonic() < ends:
            nodes.append(mine.adopt(stock.pop()))
            reply = mine.check('AFTER', 'NODE_CREATE', node=mine.node(nodes[-1]))
            assert reply['action']['data']['status'] == 'OK', reply['action']['data']['reason']
            if len(nodes) % 3 == 0:
                gone = nodes.pop(0)
                reply = mine.check('BEFORE', 'NODE_DELETE', node=mine.node(gone))
                assert reply['action']['data']['status'] == 'OK', reply['action']['data']['reason']
                mine.remove([gone])
        return {mine.node(node_id)['data']['lb_member'] for node_id in nodes}

    with ThreadPoolExecutor(2) as workers:
        kept = list(workers.map(work, stocks))

    expected = {node['data']['lb_member'] for node in web.nodes}.union(*kept)
    assert min(map(len, kept)) >= 2
    assert {member.id for member in remaining(openstack, web.name)['members']} == expected
    assert web.detach()['status'] == 'OK'
