"""Nodes that join a pool: how much work that is."""

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import Node
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Driver
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing import members
from tests.simulated_octavia import Lab


class Id(str):
    """An id that counts how often it is compared with others."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Id.compared += 1
        return str.__eq__(self, other)


def test_of_nodes_that_are_all_there_each_is_compared_with_a_few_others_at_most():
    count = 500
    lab = Lab()
    _, pool_id = lab.foreign(*(f'10.0.{number // 250}.{number % 250}' for number in range(count)))
    shown = lab.octavia(None).members(pool_id)
    nodes = [
        Node(id=Id(f'n{number}'), data={'lb_member': one['id']}) for number, one in enumerate(shown)
    ]
    state = State({}, None, count)
    driver = Driver(lab.octavia(None), OctaviaSettings(), 60, lambda: 60, '')

    outcome = members.join(
        Pool(driver, 'lb', pool_id, None, ['x']), state, nodes, lambda missing: (missing, {})
    )

    assert outcome.reason == f'{count} in the pool already'
    assert Id.compared < 10 * count
