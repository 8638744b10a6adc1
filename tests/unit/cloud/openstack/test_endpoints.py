"""Endpoints of the catalog, and the decoding of responses."""

import pytest

from placement_worker.errors import ServiceFailed
from tests.unit.cloud import fake_services
from tests.unit.cloud.fake_services import TOKENS, TRUST


def test_endpoint_of_unknown_region_is_none(cloud, services):
    """A lookup in a region without an endpoint returns nothing and sends no request."""
    assert cloud.zones('Nowhere') == {}
    assert cloud.servers('Nowhere', ['s1']) == {}
    assert cloud.network('Nowhere', 'net') is None
    assert services.count(TOKENS) == len(services.seen)


def test_endpoint_of_unknown_configured_region_names_options(make_clouds):
    """An error about an unknown configured region names the options to check."""
    cloud = make_clouds(region='Nowhere').acting_for(TRUST, 'project-a')

    with pytest.raises(ServiceFailed) as failed:
        cloud.zones(None)

    assert str(failed.value) == (
        'The catalog has no public endpoint of compute in region Nowhere; check region_name and '
        'valid_interfaces in [service_auth], or region_name and interface in clouds.yaml; '
        'openstack catalog list shows the endpoints'
    )


def test_home_region_configured_needs_no_request(make_clouds, services):
    """The configured region is the home region, without a request for the catalog."""
    cloud = make_clouds(region='RegionTwo').acting_for(TRUST, 'project-a')
    services.seen.clear()

    assert cloud.home_region == cloud.load_balancer_region == 'RegionTwo'
    assert not services.seen


@pytest.mark.parametrize('regions', [('RegionOne', 'RegionTwo'), ('RegionTwo', 'RegionOne')])
def test_home_region_not_configured_is_first_of_catalog(make_clouds, monkeypatch, regions):
    """Without a configured region, load balancers use the first region of the catalog."""
    monkeypatch.setattr(fake_services, 'REGIONS', regions)
    cloud = make_clouds(region=None).acting_for(TRUST, 'project-a')

    assert cloud.home_region is None
    assert cloud.load_balancer_region == regions[0]
    assert cloud.zones(None) == cloud.zones(regions[0])


@pytest.mark.parametrize(
    ('there', 'wanted', 'found'),
    [('internal', ['admin', 'internal'], True), ('internal', ['public'], False)],
)
def test_endpoint_has_a_configured_interface(services, make_clouds, there, wanted, found):
    """Endpoints of other interfaces than the configured ones are ignored."""
    services.interfaces = (there,)

    cloud = make_clouds(interfaces=wanted).acting_for(TRUST, 'project-a')

    assert (cloud.zones('RegionTwo') == {'az3': True}) is found
