"""The requests and replies of the contract."""

import datetime

import msgspec
import pytest

from placement_worker.contract import model
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import ContractStruct


def test_secrets_do_not_survive_decoding_or_printing():
    """Of properties and metadata only the known keys are decoded; no text shows a trust."""
    profile = b'{"type": "t", "properties": {"availability_zone": "a", "admin_pass": "x"}}'
    node = b'{"id": "n1", "metadata": {"protected": "true", "admin_pass": "x"}}'

    assert msgspec.to_builtins(decoder(model.Profile).decode(profile).properties) == {
        'availability_zone': 'a',
        'context': None,
    }
    assert msgspec.to_builtins(decoder(model.Node).decode(node).metadata) == {'protected': 'true'}
    assert 'secret' not in repr(model.Credentials('secret'))


def test_objects_of_the_contract_are_frozen_and_name_their_types():
    """Objects cannot be changed; the name of a policy type has a major and a minor version."""
    structs = [kind for kind in vars(model).values() if isinstance(kind, type(ContractStruct))]

    assert all(
        kind.__struct_config__.frozen for kind in structs if issubclass(kind, ContractStruct)
    )
    assert [model.Spec('t', one).type_name for one in (1, '1.1', 1.1)] == ['t-1.0', *['t-1.1'] * 2]


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
    profile = msgspec.convert({'type': 't', 'properties': properties}, model.Profile)

    assert (profile.zone, profile.region) == (zone, region)


def test_in_utc_of_a_time_without_zone_adds_utc():
    """A time without a time zone is in UTC; another one keeps its zone."""
    naive = datetime.datetime(2026, 1, 1)
    other = naive.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))

    assert model.in_utc(naive) == naive.replace(tzinfo=datetime.UTC)
    assert model.in_utc(other) is other
