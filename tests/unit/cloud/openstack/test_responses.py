"""The fields that are read from responses."""

import msgspec
import pytest

from placement_worker.cloud.openstack import responses


def decoded(kind, raw):
    return msgspec.json.decode(msgspec.json.encode(raw), type=kind)


def test_decode_ignores_other_fields():
    """Fields that a type does not declare are ignored at each level."""
    zone = {'zoneName': 'az1', 'zoneState': {'available': True, 'x': 1}, 'hosts': None}

    found = decoded(responses.Zones, {'availabilityZoneInfo': [zone], 'x': 1})

    assert found.zones == [responses.Zone('az1', responses.ZoneState(True))]


@pytest.mark.parametrize(
    ('zone', 'addresses', 'is_complete'),
    [
        ('az1', {'net': [{'addr': '10.0.0.5', 'version': 4}]}, True),
        ('', {'net': [{'addr': '10.0.0.5', 'version': 4}]}, False),
        ('az1', {}, False),
    ],
)
def test_is_complete_requires_zone_and_addresses(zone, addresses, is_complete):
    """A server that is being built lacks a zone or addresses."""
    raw = {'id': 's1', 'OS-EXT-AZ:availability_zone': zone, 'addresses': addresses}

    assert decoded(responses.Server, raw).is_complete is is_complete


@pytest.mark.parametrize(
    ('servers', 'links', 'has_more'),
    [
        ([{'id': 's1'}], [{'rel': 'next', 'href': 'x'}], True),
        ([{'id': 's1'}], [{'rel': 'previous', 'href': 'x'}], False),
        ([{'id': 's1'}], [], False),
        ([], [{'rel': 'next', 'href': 'x'}], False),
    ],
)
def test_has_more_requires_servers_and_next_link(servers, links, has_more):
    """Another page follows a page that contains servers and a link to the next one."""
    raw = {'servers': servers, 'servers_links': links}

    assert decoded(responses.Servers, raw).has_more is has_more


@pytest.mark.parametrize(
    ('kind', 'key', 'row'),
    [
        (responses.Networks, 'networks', {'id': 'n1', 'name': 'private'}),
        (
            responses.Subnets,
            'subnets',
            {'id': 's1', 'name': 'private', 'network_id': 'n1', 'ip_version': 4},
        ),
    ],
)
def test_rows_come_from_key_of_listing(kind, key, row):
    """The listings of Neutron share one attribute for their rows."""
    assert [msgspec.to_builtins(one) for one in decoded(kind, {key: [row]}).rows] == [row]
