"""The cloud that the configuration names."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import ConfigurationError
from placement_worker.worker import cloud_factory
from tests.config_files import default_options


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """The options of an embedded cloud."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'cloud.yaml').write_text('zones: {a: true}')
    conf = default_options()
    conf.set_override('backend', 'inventory', group='cloud')
    conf.set_override('inventory_file', 'cloud.yaml', group='cloud')
    return conf


def test_create_with_an_inventory_returns_the_embedded_cloud(conf):
    """An embedded cloud needs no service."""
    cloud = cloud_factory.create(conf)

    assert isinstance(cloud, Inventory)
    assert cloud.load_balancer.state is None


def test_create_with_a_state_file_shares_the_load_balancers(conf):
    """All processes of a worker see the same load balancers."""
    assert cloud_factory.create(conf, '/state').load_balancer.state == '/state'


def test_create_with_a_description_that_names_a_state_file_keeps_it(conf, tmp_path):
    """Load balancers can outlive the worker."""
    (tmp_path / 'cloud.yaml').write_text('load_balancer: {state: kept.json}')

    assert cloud_factory.create(conf, '/state').load_balancer.state.endswith('kept.json')


def test_create_without_an_inventory_file_raises(conf):
    """The error names the option that is missing."""
    conf.clear_override('inventory_file', group='cloud')

    with pytest.raises(ConfigurationError, match='needs inventory_file'):
        cloud_factory.create(conf)


def test_create_with_an_invalid_description_raises(conf, tmp_path):
    """The error names the option and the part of the description."""
    (tmp_path / 'cloud.yaml').write_text('zones: 7')

    with pytest.raises(ConfigurationError, match=r'^\[cloud\] inventory_file: .*zones'):
        cloud_factory.create(conf)


def test_create_with_a_missing_description_names_the_remedy(conf, tmp_path):
    """The error says what to do, as that of a cordon file does."""
    (tmp_path / 'cloud.yaml').unlink(missing_ok=True)

    with pytest.raises(ConfigurationError, match=r'cloud\.yaml.*; create it, or correct the path$'):
        cloud_factory.create(conf)


def test_create_with_openstack_needs_a_service_user(conf):
    """The default backend is OpenStack, whose options have no defaults."""
    conf.clear_override('backend', group='cloud')

    with pytest.raises(ConfigurationError, match='auth_type is not set'):
        cloud_factory.create(conf)
