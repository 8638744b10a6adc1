"""Credentials of a request, and the rights that they grant."""

import pytest

from placement_worker.contract.model import Credentials
from placement_worker.errors import CredentialsRefused
from tests.unit.cloud.fake_services import TRUST, server


def test_acting_for_without_trust_is_refused(clouds, services):
    """A request without a trust is refused, and nothing is sent."""
    with pytest.raises(
        CredentialsRefused,
        match=r'has no trust: set `credentials\.trust_id` to a trust from the owner',
    ):
        clouds.acting_for(Credentials(), 'project-a')

    assert services.seen == []


def test_acting_for_without_trust_if_allowed_uses_service_user(make_clouds, services):
    """If configured, the service user lists the servers of the cluster's project."""
    services.servers = [server('s1')]

    clouds = make_clouds(allow_service_credentials=True)

    assert clouds.acting_for(Credentials(), 'project-a').servers(None, ['s1'])
    assert services.seen[-1][2] == {'limit': '1000', 'all_tenants': '1', 'project_id': 'project-a'}
    assert clouds.acting_for(Credentials(), 'service').servers(None, ['s1'])
    assert services.seen[-1][2] == {'limit': '1000'}


def test_acting_as_service_lists_zones_and_regions(clouds):
    """The service user can always look up zones and regions."""
    cloud = clouds.acting_as_service()

    assert cloud.zones(None)['az1']
    assert cloud.regions()


@pytest.mark.parametrize('project', ['project-b', None])
def test_acting_for_with_trust_of_other_project_is_refused(clouds, services, project):
    """A trust of another project is refused, and the reason names both projects."""
    with pytest.raises(
        CredentialsRefused,
        match=f'trust belongs to project project-a, but the cluster belongs to project {project}:',
    ):
        clouds.acting_for(TRUST, project)

    assert [path for _, path, _ in services.seen] == ['/v3/auth/tokens']
