"""The request id in the logs of OpenStack services."""

import uuid

from keystoneauth1.identity import v3

from placement_worker.cloud.openstack.project_cloud import OpenStackClouds
from placement_worker.cloud.openstack.sessions import Access
from placement_worker.cloud.ports import bound_request_id
from placement_worker.contract.model import Credentials
from tests.integration import seeding


def clouds(openstack):
    """Return the clouds of a worker that uses the service user of the harness."""

    def log_in(trust_id):
        user = {
            'username': 'placement-worker',
            'password': seeding.PASSWORD,
            'user_domain_id': 'default',
        }
        return v3.Password(openstack.auth_url, trust_id=trust_id, **user)

    return OpenStackClouds(Access(log_in, 'RegionOne', ['public'], {}))


def test_octavia_logs_request_id_of_caller(openstack, trust):
    """The log of Octavia contains the request id of the caller."""
    request_id = f'req-{uuid.uuid4()}'
    project = openstack.session('demo').get_project_id()
    cloud = clouds(openstack).acting_for(Credentials(trust_id=trust()), project)
    octavia, subnet = cloud.octavia(None), openstack.subnets['private-subnet']
    lines = openstack.log('octavia').splitlines()

    with bound_request_id(request_id):
        octavia.create('loadbalancer', {'name': 'with-request-id', 'vip_subnet_id': subnet})

    news = openstack.log('octavia').splitlines()[len(lines) :]
    assert [line for line in news if request_id in line]
