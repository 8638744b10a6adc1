"""The addresses of members: in the request, in Nova, or missing."""

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest

from placement_worker.policies.load_balancing.node_addresses import AddressLookup
from tests.factories import bind, connected, load_balancing_policy, node
from tests.simulated_octavia import Lab
from tests.unit.policies.load_balancing.building_blocks import after, created

NO_ADDRESS = 'The node has no address of IP version {} on network private of subnet {}'


class Watching:
    def __init__(self, **servers):
        self.asked = []
        self.lab = Lab(
            description={'servers': {name: {'addresses': found} for name, found in servers.items()}}
        )
        inventory = self.lab.inventory
        self.lab.servers = lambda region, ids: (
            self.asked.append((region, sorted(ids))) or inventory.servers(region, ids)
        )


def addresses(*of_private, **others):
    """Addresses as Nova shows them: those of the network `private`, and of others."""
    networks = {'private': of_private, **others}
    return {name: [address(text) for text in found] for name, found in networks.items()}


def address(text):
    """Return an address as Nova shows it; ":fixed" or ":floating" at the end is its type."""
    kinds = [kind for kind in ('fixed', 'floating') if text.endswith(kind)]
    kind = {'OS-EXT-IPS:type': kinds[0]} if kinds else {}
    addr = text.removesuffix(f':{kinds[0]}') if kinds else text
    return {'addr': addr, 'version': 6 if ':' in addr else 4, **kind}


@pytest.mark.parametrize(
    ('found', 'subnet', 'address'),
    [
        (addresses('10.0.0.5'), 'private-subnet', '10.0.0.5'),
        (addresses('10.0.0.5'), 'sub1', '10.0.0.5'),
        (addresses('10.0.0.5', '10.0.0.6'), 'private-subnet', '10.0.0.5'),
        (addresses('172.16.9.5', '10.0.0.5'), 'private-subnet', '10.0.0.5'),
        (addresses('10.0.1.5', '10.0.0.255', '10.0.0.5'), 'private-subnet', '10.0.0.255'),
        (addresses('203.0.113.7:floating', '10.0.0.5:fixed'), 'private-subnet', '10.0.0.5'),
        (addresses('10.0.0.7:floating', '10.0.0.5'), 'private-subnet', '10.0.0.5'),
        (addresses('fd00:1::9', '2001:db8::9', 'fd00::5'), 'global-subnet', '2001:db8::9'),
        (addresses('fd00::5', '10.0.0.5'), 'private-subnet', '10.0.0.5'),
        (addresses('10.0.0.5', 'fd00::5'), 'six-subnet', 'fd00::5'),
        (addresses('10.0.0.5', other=['10.9.0.5']), 'private-subnet', '10.0.0.5'),
        ({'other': [{'addr': '10.9.0.5', 'version': 4}], **addresses('10.0.0.5')}, 'private-subnet',
         '10.0.0.5'),
    ],
)  # fmt: skip
@pytest.mark.parametrize('source', ['request', 'Nova'])
def test_member_address_is_the_first_fixed_one_in_the_subnet_of_the_pool(
    found, subnet, address, source
):
    """The address of a member is the node's first fixed one in the pool's subnet."""
    lab = Lab(description={'servers': {'s1': {'addresses': found}}})

    details = {'details': {'addresses': found}} if source == 'request' else {}
    one = node(1, physical_id='s1', **details)
    reply = lab.attach(bind(load_balancing_policy(pool={'subnet': subnet}), [one]))

    assert reply['status'] == 'OK', reply['reason']
    assert (lab.addresses(), reply['warnings']) == ([address], [])


@pytest.mark.parametrize(
    ('found', 'address'),
    [
        (addresses('172.16.9.5', '172.16.9.6'), '172.16.9.5'),
        (addresses('fd00::5', '10.0.1.5'), '10.0.1.5'),
        (addresses('10.0.0.7:floating', '10.0.1.5'), '10.0.1.5'),
    ],
)
def test_member_address_outside_the_subnet_is_a_warning(found, address):
    """Without an address in the subnet, the first fixed one on its network serves, with a warning
    that names both.
    """
    lab = Lab()
    policy, _ = lab.attached([])
    one = node(1, details={'addresses': found})
    asked = after('NODE_CREATE', [policy], [one], node=one)

    planned = lab.check({**asked, 'dry_run': True})
    reply = lab.check(asked)

    assert lab.addresses() == [address]
    subnet = 'subnet private-subnet (10.0.0.0/24)'
    warning = f'Node n1 has no address in {subnet}, so its member has address {address}'
    assert reply['warnings'] == planned['warnings'] == [warning]


def test_recovered_node_moves_from_an_address_outside_the_subnet_into_it():
    """A member at an address of another subnet is replaced by one at the address in the subnet."""
    lab = Lab()
    outside = node(1, details={'addresses': addresses('172.16.9.5')})
    policy, members = lab.attached([outside])
    one = {**members[0], 'details': {'addresses': addresses('172.16.9.5', '10.0.0.5')}}

    reply = lab.check(after('NODE_RECOVER', [policy], [one], node=one))

    assert lab.addresses() == ['10.0.0.5']
    assert reply['decisions'][0]['reason'] == '1 removed, 1 added'


@pytest.mark.parametrize(
    ('found', 'subnet', 'version'),
    [
        (addresses(), 'private-subnet', 4),
        (addresses('fd00::5'), 'private-subnet', 4),
        (addresses('10.0.0.5'), 'six-subnet', 6),
        (addresses(other=['10.9.0.5']), 'private-subnet', 4),
        (addresses('10.0.0.5:floating'), 'private-subnet', 4),
    ],
)
def test_node_without_address_fails_with_the_cause(found, subnet, version):
    """A node without a matching address fails, and the cause names network and subnet."""
    lab = Lab()
    policy, _ = lab.attached([], pool={'subnet': subnet})
    one = node(1, details={'addresses': found})

    reply = lab.check(after('NODE_CREATE', [policy], [one], node=one))

    why = NO_ADDRESS.format(version, subnet)
    reason = f"Failed in adding nodes into lb pool: ['n1'] (n1: {why})"
    assert reply['action']['data']['reason'] == reason
    assert reply['decisions'][0]['details']['failed'] == {'n1': why}
    assert reply['nodes']['n1']['status'] == 'WARNING'


def test_addresses_missing_in_the_request_come_from_nova_in_one_call():
    """Nova is asked once for all nodes without addresses in the request, and for no member."""
    servers = {f's{number}': addresses(f'10.0.0.{number}') for number in range(2, 52)}
    watching = Watching(**servers)
    policy, members = watching.lab.attached([connected(1)])
    new = [node(number, created_at=None, physical_id=f's{number}') for number in range(2, 52)]
    new[0]['details'] = {'OS-EXT-AZ:availability_zone': 'a', 'addresses': {}}
    nodes = [*members, *new]
    data = created(*(one['id'] for one in nodes))

    reply = watching.lab.check(after('CLUSTER_SCALE_OUT', [policy], nodes, data=data))

    assert reply['action']['data']['status'] == 'OK'
    assert len(watching.lab.addresses()) == 51
    assert watching.asked == [(None, sorted(servers))]


def test_server_unknown_to_nova_is_named_in_the_reason():
    """The reason for a node without a server names its physical_id, not its network."""
    reply = Watching().lab.attach(bind(load_balancing_policy(), [node(1, physical_id='gone')]))

    assert '(n1: The cloud has no server gone (physical_id))' in reply['reason']


def test_node_in_another_region_fails_without_a_call_to_nova():
    """A node in another region than the load balancer fails, and Nova is not asked for it."""
    watching = Watching(s1=addresses('10.0.0.1'))
    policy, _ = watching.lab.attached([])
    far = node(1, region='R2', physical_id='s1')
    near = connected(2, data={'placement': {'region_name': 'R1'}})
    asked = after('CLUSTER_SCALE_OUT', [policy], [far, near], data=created('n1', 'n2'))

    reply = watching.lab.check(asked)

    assert reply['decisions'][0]['details']['failed'] == {
        'n1': 'The node is in region R2, the load balancer in R1'
    }
    assert reply['nodes']['n1']['status'] == 'WARNING'
    assert reply['nodes']['n2']['data']['lb_member']
    assert watching.asked == []


def test_ipv6_address_in_another_notation_is_the_same_member():
    """Two notations of an IPv6 address identify the same member."""
    lab = Lab()
    _, pool = lab.foreign('fd00:0:0:0:0:0:0:5')
    six = node(1, details={'addresses': addresses('fd00::5')})

    lab.attached([six], loadbalancer='front', pool={'id': pool, 'subnet': 'six-subnet'})

    assert lab.addresses() == ['fd00:0:0:0:0:0:0:5']


def test_subnet_lookup_without_a_response_does_not_block_another_check():
    """While Neutron does not respond to one check, another one finds its subnet."""
    silent, asked, found = threading.Event(), threading.Event(), Mock()
    blocked = Mock(subnet=lambda _: (asked.set(), silent.wait(30), found)[-1])
    with ThreadPoolExecutor() as pool:
        first = pool.submit(lambda: AddressLookup(blocked, Mock()).subnet)
        assert asked.wait(30)
        try:
            second = pool.submit(lambda: AddressLookup(Mock(subnet=lambda _: found), Mock()).subnet)
            assert second.result(10) is found
        finally:
            silent.set()
        assert first.result(30) is found
