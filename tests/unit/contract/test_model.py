"""The requests and replies of the contract."""

import datetime

import msgspec
import pytest

from placement_worker.contract import model
from placement_worker.contract.codec import decoder
from placement_worker.contract.model import Wire


def _all_structs():
    return [
        kind
        for kind in vars(model).values()
        if isinstance(kind, type(Wire)) and issubclass(kind, Wire)
    ]


@pytest.mark.parametrize('kind', _all_structs(), ids=lambda kind: kind.__name__)
def test_struct_of_the_contract_is_frozen(kind):
    """Objects of the contract cannot be changed."""
    assert kind.__struct_config__.frozen


@pytest.mark.parametrize(('version', 'name'), [(1, 't-1.0'), ('1.1', 't-1.1'), (1.1, 't-1.1')])
def test_spec_type_name_of_a_version_has_two_parts(version, name):
    """The name of a policy type has a major and a minor version."""
    assert model.Spec('t', version).type_name == name


def test_credentials_as_text_hide_the_trust():
    """A trust id never appears in a log."""
    assert 'secret' not in repr(model.Credentials('secret'))


@pytest.mark.parametrize('topic', ['', 'a#', 'a*', 'a b', 'x' * 256])
def test_reply_to_with_an_unusable_topic_is_refused(topic):
    """The topic of a reply must be a name without wildcards."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({'exchange': 'e', 'topic': topic, 'method': 'm'}, model.ReplyTo)


def test_profile_properties_that_placement_does_not_need_are_dropped():
    """Secrets in the properties of a profile do not survive decoding."""
    raw = b'{"type": "t", "properties": {"availability_zone": "a", "admin_pass": "x"}}'

    profile = decoder(model.Profile).decode(raw)

    assert msgspec.to_builtins(profile.properties) == {'availability_zone': 'a', 'context': None}


def test_node_metadata_other_than_protected_are_dropped():
    """Metadata that users set for other purposes, maybe secrets, do not survive decoding."""
    raw = b'{"id": "n1", "metadata": {"protected": "true", "admin_pass": "x"}}'

    node = decoder(model.Node).decode(raw)

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
    profile = msgspec.convert({'type': 't', 'properties': properties}, model.Profile)

    assert (profile.zone, profile.region) == (zone, region)


def test_in_utc_of_a_time_without_zone_adds_utc():
    """A time without a time zone is in UTC; another one keeps its zone."""
    naive = datetime.datetime(2026, 1, 1)
    other = naive.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))

    assert model.in_utc(naive) == naive.replace(tzinfo=datetime.UTC)
    assert model.in_utc(other) is other
