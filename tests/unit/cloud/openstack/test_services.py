"""Names and advice in error messages."""

import pytest

from placement_worker.cloud.openstack import services


def test_where_names_region_if_there_is_one():
    """A message contains the region of a service, unless all regions share the service."""
    assert services.compute('RegionOne').where == ' (region RegionOne)'
    assert services.identity().where == ''


@pytest.mark.parametrize(
    ('service', 'right'),
    [
        (services.identity(), 'list regions'),
        (services.compute(None), 'list availability zones and servers'),
        (services.network(None), 'list networks and subnets'),
    ],
)
def test_advice_for_forbidden_request_names_missing_right(service, right):
    """The advice for status 403 says what the roles must allow."""
    assert service.advice[403].endswith(f'let it {right}')


@pytest.mark.parametrize('status', [401, 403, 404])
def test_advice_for_refused_login_depends_on_credentials(status):
    """The advice for a login distinguishes trusts from the service user's password."""
    assert 'trustee' in services.TRUST_LOGIN.advice[status]
    assert 'password' in services.USER_LOGIN.advice[status]
