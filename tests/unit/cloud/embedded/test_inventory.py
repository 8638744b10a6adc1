"""The embedded cloud: lookups in its description."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import Network, Subnet
from placement_worker.errors import InvalidInventory


@pytest.mark.parametrize(
    ('description', 'region', 'zones'),
    [
        ({'zones': {'a': True}}, None, {'a': True}),
        ({'zones': {'a': True}}, 'R1', {'a': True}),
        ({'zones': {'a': True}, 'regions': ['R1']}, 'R1', {'a': True}),
        ({'zones': {'a': True}, 'regions': ['R1']}, 'R2', {}),
        ({'zones': {'a': True}, 'regions': {'R1': {'zones': {'b': False}}}}, 'R1', {'b': False}),
        ({'zones': {'a': True}, 'regions': {'R1': {'zones': {'b': False}}}}, None, {'a': True}),
        ({'regions': {'R1': {'zones': {'b': True}}, 'R2': {}}}, None, {'b': True}),
        ({'regions': {'R1': {'zones': {'b': True}}}}, 'R2', {}),
        ({}, None, {}),
    ],
)
def test_zones_of_region_default_to_those_of_cloud(description, region, zones):
    """A region has its own zones, or else the zones of the whole cloud."""
    assert Inventory.parse(description, 'test').zones(region) == zones


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('zones: [a]',
         'f does not describe a cloud: Expected `object`, got `array` - at `$.zones`'),
        ('zone: {}',
         'f does not describe a cloud: Unknown key `zone` (did you mean `zones`?) - at `$` '
         '(line 1, column 1)'),
        ('a: [', 'The cloud cannot be read: f:2:1 is neither YAML nor JSON: did not find'),
        ('--- {}\n--- {}', 'f contains 2 documents, expected one'),
    ],
)  # fmt: skip
def test_load_of_invalid_file_names_file_and_cause(text, message, tmp_path, monkeypatch):
    """An error about a file that describes no cloud names the file and the cause."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'f').write_text(text)

    with pytest.raises(InvalidInventory) as refused:
        Inventory.load('f')

    assert str(refused.value).startswith(message)


def test_subnet_of_unknown_network_is_refused():
    """A subnet must name a network of the description."""
    raw = {'subnets': {'s': {'id': 'sub1', 'network': 'gone'}}}

    with pytest.raises(InvalidInventory, match=r'key of `networks`, got `gone` in `subnets\.s'):
        Inventory.parse(raw, 'cloud')


@pytest.mark.parametrize('key', ['private-subnet', 'sub1'])
def test_subnet_is_found_by_name_and_by_id(key):
    """A lookup by name or id returns the subnet with its network, or None."""
    raw = {
        'networks': {'private': {'id': 'net1'}},
        'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'ip_version': 6}},
    }
    cloud = Inventory.parse(raw, 'cloud')

    private = Network('net1', 'private')
    assert cloud.subnet(None, key) == Subnet('sub1', 'private-subnet', private, 6)
    assert cloud.network(None, 'net1') == cloud.network(None, 'private') == private
    assert cloud.subnet(None, 'gone') is cloud.network(None, 'gone') is None


def test_load_balancer_region_is_home_region_or_first_one():
    """Load balancers are created in the home region, or else in the first region."""
    raw = {'regions': ['R1', 'R2']}

    assert Inventory.parse(raw, 'cloud').load_balancer_region == 'R1'
    assert Inventory.parse({**raw, 'home_region': 'R2'}, 'cloud').load_balancer_region == 'R2'
    assert Inventory.parse({}, 'cloud').load_balancer_region is None
