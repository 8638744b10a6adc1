"""Clouds that use fake OpenStack services."""

import pytest
from keystoneauth1.identity import v3

from placement_worker.cloud.openstack.project_cloud import OpenStackClouds
from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.sessions import Access

PASSWORD = 'hunter2'


@pytest.fixture
def waits():
    """The waits between attempts in seconds, recorded instead of slept."""
    return []


@pytest.fixture
def make_clouds(services, waits):
    made = []

    def make(
        budget_s=20,
        max_attempts=4,
        request_timeout_s=60,
        verify=True,
        interfaces=('public',),
        region='RegionOne',
        **options,
    ):
        def log_in(trust_id):
            own = {'project_name': 'service', 'project_domain_id': 'default'}
            user = {'username': 'u', 'password': PASSWORD, 'user_domain_id': 'default'}
            scope = {'trust_id': trust_id} if trust_id else own
            return v3.Password(f'{services.url}/v3', **user, **scope)

        connection = {'timeout': request_timeout_s, 'verify': verify}
        access = Access(log_in, region, interfaces, connection)
        policy = RetryPolicy(max_attempts, budget_s, waits.append)
        made.append(OpenStackClouds(access, retry_policy=policy, **options))
        return made[-1]

    yield make
    for clouds in made:
        clouds.sessions.connections.close()


@pytest.fixture
def clouds(make_clouds):
    return make_clouds()
