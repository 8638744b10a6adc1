"""Tests for planning the members that nodes need."""

from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import Node
from placement_worker.octavia.pool_members import Ownership
from placement_worker.octavia.pools import Pool
from placement_worker.octavia.updater import Updater
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.joining import Joining
from placement_worker.policies.load_balancing.node_addresses import ResolvedMembers
from tests.simulated_octavia import Lab


class Id(str):
    """An id that counts how often it is compared with others."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Id.compared += 1
        return str.__eq__(self, other)


def test_run_with_all_members_present_takes_linear_time():
    """Each node is compared with a constant number of others if all are members already."""
    count = 500
    lab = Lab()
    _, pool_id = lab.foreign(*(f'10.0.{number // 250}.{number % 250}' for number in range(count)))
    shown = lab.octavia(None).members(pool_id)
    nodes = [
        Node(id=Id(f'n{number}'), data={'lb_member': one['id']}) for number, one in enumerate(shown)
    ]
    state = State({}, None, count)
    updater = Updater(lab.octavia(None), OctaviaSettings(), 60, lambda: 60, '')

    pool = Pool(updater, 'lb', pool_id, None, Ownership(['x']))
    outcome = Joining(state, nodes).run(pool, ResolvedMembers({}))

    assert outcome.reason == f'{count} in the pool already'
    assert Id.compared < 10 * count
