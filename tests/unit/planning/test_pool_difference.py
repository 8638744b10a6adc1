"""Pool members of nodes: addresses and identities."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.model import Node, ServerDetails
from placement_worker.planning import pool_difference
from placement_worker.planning.pool_difference import Member

SERVER = ServerDetails(
    addresses=codec.decode(
        {'private': [{'addr': 'fd00::9', 'version': 6}, {'addr': '10.0.0.9', 'version': 4}]},
        ServerDetails.__annotations__['addresses'],
    )
)


def made(**addresses):
    """Return a node with these addresses by network."""
    details = {
        'addresses': {
            network: [{'addr': addr, 'version': 4} for addr in listed]
            for network, listed in addresses.items()
        }
    }
    return codec.decode({'id': 'n1', 'details': details}, Node)


@pytest.mark.parametrize(
    ('address', 'same'),
    [('FD00::0:1', 'fd00::1'), ('10.0.0.1', '10.0.0.1'), ('some.host', 'some.host')],
)
def test_key_is_the_same_for_all_notations_of_an_address(address, same):
    """Two notations of an IP address have one key; another string stays as it is."""
    assert pool_difference.key(address, 80) == (same, 80)


@pytest.mark.parametrize(
    ('node', 'server', 'network', 'version', 'expected'),
    [
        (made(private=['10.0.0.1', '10.0.0.2']), SERVER, 'private', 4, '10.0.0.1'),
        (made(private=['10.0.0.1']), SERVER, 'private', 6, None),
        (made(other=['10.1.0.1']), SERVER, 'private', 4, None),
        (made(), SERVER, 'private', 4, '10.0.0.9'),
        (made(), SERVER, 'private', 6, 'fd00::9'),
        (made(), None, 'private', 4, None),
        (Node('n1'), SERVER, 'private', 4, '10.0.0.9'),
    ],
)
def test_address_is_the_first_of_its_version_on_the_network(
    node, server, network, version, expected
):
    """Addresses of the request take precedence over Nova's; a node may have none."""
    assert pool_difference.address_of(node, server, network, version) == expected


def test_by_key_indexes_members_by_address_and_port():
    """Members of one address with two ports are two entries."""
    members = [{'address': '10.0.0.1', 'protocol_port': port} for port in (80, 81)]

    assert pool_difference.by_key(members) == {
        ('10.0.0.1', 80): members[0],
        ('10.0.0.1', 81): members[1],
    }


def test_duplicates_name_the_earlier_node_of_each_address():
    """Each later node with an address and port of an earlier one is mapped to that node."""
    members = [
        Member('n1', 'one', 'fd00::1', 80),
        Member('n2', 'two', 'fd00:0::1', 80),
        Member('n3', 'three', 'fd00::1', 81),
        Member('n4', 'four', 'FD00::1', 80),
    ]

    assert pool_difference.duplicates(members) == {'n2': 'n1', 'n4': 'n1'}
