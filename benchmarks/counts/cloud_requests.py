"""HTTP requests of checks to fake cloud services, and calls of Octavia's API."""

import contextlib
from collections.abc import Iterator
from typing import Any

from keystoneauth1.identity import v3

from benchmarks.counts.count import Count
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.openstack.project_cloud import OpenStackClouds
from placement_worker.cloud.openstack.sessions import Access
from placement_worker.handlers.service import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import deletion_policy, node, region_policy, request, zone_policy
from tests.unit.cloud.fake_services import REGIONS, FakeServices, server

SERVERS = 4  # two pages of the fake Nova
ADDED = 50
CLOUD = {
    'networks': {'private': {'id': 'net1'}},
    'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/16'}},
}


def counted() -> list[Count]:
    """Count the requests of a first and a later check of a trust, and of a bulk lookup."""
    counts = []
    with _services() as services, _clouds(services) as clouds:
        asks = Endpoints(clouds, Registry.installed())
        for what, asked in (
            ('the first check of a trust', _shrinking(servers=False)),
            ('a later check', _shrinking(servers=False)),
            (f'a check that looks {SERVERS} servers up, two a page', _shrinking(servers=True)),
        ):
            services.seen.clear()
            reply = asks.policy_check(asked)
            assert reply['action']['data']['status'] == 'OK', reply
            counts.append(Count(f'requests of {what}', len(services.seen)))
    return [*counts, *_of_octavia()]


@contextlib.contextmanager
def _services() -> Iterator[FakeServices]:
    services = FakeServices()
    services.servers = [server(f's{number}') for number in range(SERVERS)]
    try:
        yield services
    finally:
        services.close()


@contextlib.contextmanager
def _clouds(services: FakeServices) -> Iterator[OpenStackClouds]:
    def log_in(trust_id: str | None) -> v3.Password:
        return v3.Password(
            f'{services.url}/v3',
            username='u',
            password='p',
            user_domain_id='default',
            trust_id=trust_id,
        )

    clouds = OpenStackClouds(Access(log_in, REGIONS[0], ('public',), {'timeout': 60}))
    try:
        yield clouds
    finally:
        clouds.sessions.connections.close()


def _shrinking(servers: bool) -> dict[str, Any]:
    """Return a check under three policies, optionally with nodes that name only a server."""
    members = [node(1, 'az1', REGIONS[0]), node(2, 'az3', REGIONS[1])]
    if servers:
        members += [
            node(3 + number, None, REGIONS[0], physical_id=f's{number}')
            for number in range(SERVERS)
        ]
    policies = [region_policy(*REGIONS), zone_policy('az1', 'az3'), deletion_policy()]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2})
    return {
        **asked,
        'credentials': {'trust_id': 'trust-a'},
        'cluster': {**asked['cluster'], 'project': 'project-a'},
    }


def _of_octavia() -> list[Count]:
    """Count the calls and updates that add members to a pool of the embedded cloud."""
    asks = Endpoints(Inventory.parse(CLOUD, 'the cloud'), Registry.installed())
    place = {'subnet': 'private-subnet'}
    spec = {
        'type': 'senlin.policy.loadbalance',
        'version': '1.3',
        'properties': {'pool': place, 'vip': place},
    }
    profile = {'type': 'os.nova.server-1.0'}
    cluster = {
        'id': 'c1',
        'project': 'p1',
        'profile': profile,
        'nodes': [_addressed(n) for n in range(1, 1 + ADDED)],
    }
    attached = asks.policy_attach(
        {'cluster': {**cluster, 'nodes': []}, 'policy': {'id': 'lb', 'spec': spec}}
    )
    binding = {'id': 'lb', 'spec': spec, 'data': attached['policy']['data']}
    created = {'count': ADDED, 'nodes': [one['id'] for one in cluster['nodes']]}
    action = {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT', 'data': {'creation': created}}
    reply = asks.policy_check(
        {'target': 'AFTER', 'action': action, 'cluster': cluster, 'policies': [binding]}
    )
    details = reply['decisions'][0]['details']
    assert len(details['added']) == ADDED, reply
    return [
        Count(f'{what} of Octavia to add {ADDED} members', details[what])
        for what in ('api_calls', 'updates')
    ]


def _addressed(number: int) -> dict[str, Any]:
    """Return a node with an address in the request."""
    details = {'addresses': {'private': [{'addr': f'10.0.1.{number}', 'version': 4}]}}
    return {
        'id': f'n{number}',
        'index': number,
        'created_at': '2026-01-01T00:00:00Z',
        'details': details,
    }
