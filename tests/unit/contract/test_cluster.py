"""The objects of a cluster."""

import datetime

import msgspec
import pytest

from placement_worker.contract import cluster
from placement_worker.contract.codec import decoder


def test_profile_properties_that_placement_does_not_need_are_dropped():
    """Secrets in the properties of a profile do not survive decoding."""
    raw = b'{"type": "t", "properties": {"availability_zone": "a", "admin_pass": "x"}}'

    profile = decoder(cluster.Profile).decode(raw)

    assert msgspec.to_builtins(profile.properties) == {'availability_zone': 'a', 'context': None}


def test_node_metadata_other_than_protected_are_dropped():
    """Metadata that users set for other purposes, maybe secrets, do not survive decoding."""
    raw = b'{"id": "n1", "metadata": {"protected": "true", "admin_pass": "x"}}'

    node = decoder(cluster.Node).decode(raw)

    assert msgspec.to_builtins(node.metadata) == {'protected': 'true'}


@pytest.mark.parametrize(
    ('properties', 'zone', 'region'),
    [
        ({'availability_zone': 'a', 'context': {'region_name': 'R'}}, 'a', 'R'),
        ({'availability_zone': '', 'context': {'region_name': ''}}, None, None),
        ({}, None, None),
    ],
)
def test_profile_zone_and_region_are_none_if_empty(properties, zone, region):
    """An empty zone or region of a profile counts as absent."""
    profile = msgspec.convert({'type': 't', 'properties': properties}, cluster.Profile)

    assert (profile.zone, profile.region) == (zone, region)


def test_in_utc_of_a_time_without_zone_adds_utc():
    """A time without a time zone is in UTC; another one keeps its zone."""
    naive = datetime.datetime(2026, 1, 1)
    other = naive.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))

    assert cluster.in_utc(naive) == naive.replace(tzinfo=datetime.UTC)
    assert cluster.in_utc(other) is other
