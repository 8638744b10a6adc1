"""The addresses of simulated nodes."""

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.simulation.addresses import Addresses


def addresses(**subnet):
    """Return the addresses of a cloud with one subnet."""
    raw = {
        'networks': {'n': {'id': 'n1'}},
        'subnets': {'s': {'id': 's1', 'network': 'n', **subnet}},
    }
    return Addresses(Inventory.parse(raw, 'test'))


def taken(details):
    """Return the addresses of a node on the network."""
    return [address.addr for address in details.addresses['n']]


def test_nodes_have_different_addresses_of_the_subnet():
    """Each node has an address of its own, inside the subnet."""
    pool = addresses(cidr='192.0.2.0/24')

    assert [taken(pool.take()) for _ in range(2)] == [['192.0.2.11'], ['192.0.2.12']]


def test_addresses_of_a_subnet_of_version_6_have_that_version():
    """A subnet of IPv6 without a range of its own has addresses of version 6."""
    (address,) = addresses(ip_version=6).take().addresses['n']

    assert (address.addr, address.version) == ('fd00::b', 6)


def test_released_address_is_used_again_when_the_subnet_is_exhausted():
    """A full subnet gives the addresses of deleted nodes to new ones."""
    pool = addresses(cidr='192.0.2.0/28')
    nodes = [pool.take() for _ in range(4)]
    assert taken(pool.take()) == []

    pool.give_back(nodes[2])

    assert taken(pool.take()) == taken(nodes[2])


def test_nodes_of_a_cloud_without_subnets_have_no_addresses():
    """Without subnets a node has no details."""
    pool = Addresses(Inventory.parse({}, 'test'))

    assert pool.take() is None
    pool.give_back(None)
