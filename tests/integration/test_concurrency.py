"""Concurrent changes of one load balancer in Octavia."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

WRITERS = 8
WAIT_S = 60


@pytest.mark.usefixtures('row_locks')
def test_concurrent_writers_are_accepted_or_get_conflict(openstack):
    """Octavia either makes a concurrent change or refuses it with status 409."""
    octavia, subnet = openstack.connect('demo').load_balancer, openstack.subnets['private-subnet']
    pools = [{'name': 'many', 'protocol': 'HTTP', 'lb_algorithm': 'ROUND_ROBIN'}]
    made = octavia.create_load_balancer(name='many', vip_subnet_id=subnet, pools=pools)
    octavia.wait_for_load_balancer(made.id, wait=WAIT_S)
    [pool] = octavia.pools(name='many')
    start = Barrier(WRITERS)

    def add(writer):
        member = {'address': f'10.0.0.{writer + 1}', 'protocol_port': 80}
        start.wait(WAIT_S)
        response = octavia.put(
            f'/lbaas/pools/{pool.id}/members?additive_only=true', json={'members': [member]}
        )
        return int(response.status_code)

    with ThreadPoolExecutor(WRITERS) as writers:
        responses = Counter(writers.map(add, range(WRITERS)))
    octavia.wait_for_load_balancer(made.id, wait=WAIT_S)

    assert responses[202] >= 1
    assert responses[202] + responses[409] == WRITERS
    assert len(list(octavia.members(pool))) == responses[202]
    octavia.delete_load_balancer(made.id, cascade=True)
    octavia.wait_for_delete(made, wait=WAIT_S)
