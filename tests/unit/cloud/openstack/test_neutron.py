"""Lookups in Neutron."""

import pytest

from placement_worker.cloud.ports import Network, Subnet
from placement_worker.errors import InvalidInput

NET_ID, SUBNET_ID = '11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222'


@pytest.mark.parametrize('name_or_id', ['private-subnet', SUBNET_ID])
def test_subnet_is_found_by_name_and_by_id(cloud, services, name_or_id):
    """A lookup by name or id returns the subnet with its network, or None."""
    services.networks = [{'id': NET_ID, 'name': 'private'}]
    services.subnets = [
        {'id': SUBNET_ID, 'name': 'private-subnet', 'network_id': NET_ID, 'ip_version': 6}
    ]

    assert cloud.subnet(None, name_or_id) == Subnet(
        SUBNET_ID, 'private-subnet', Network(NET_ID, 'private'), 6
    )
    assert cloud.subnet(None, 'unknown') is None


def test_network_with_ambiguous_name_is_refused(cloud, services):
    """A name of several networks is refused, and an id is not ambiguous."""
    services.networks = [{'id': NET_ID, 'name': 'twin'}, {'id': SUBNET_ID, 'name': 'twin'}]

    with pytest.raises(
        InvalidInput, match=r'2 networks have the name `twin` \(region RegionOne\): use the id'
    ):
        cloud.network(None, 'twin')
    assert cloud.network(None, NET_ID) == Network(NET_ID, 'twin')
