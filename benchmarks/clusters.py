"""The measured requests: a shrinking cluster under both placement policies and deletion."""

import datetime
from typing import Any

import msgspec

from tests.factories import deletion_policy, region_policy, request, zone_policy

REGIONS = ('RegionOne', 'RegionTwo')
ZONES = ('az1', 'az2', 'az3')
CLOUD = {'regions': {region: {'zones': dict.fromkeys(ZONES, True)} for region in REGIONS}}
PROFILE = 'c1d2e3f4-0a1b-4c2d-8e3f-5a6b7c8d9e0f'
FIRST_DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
UNHEALTHY_EVERY = 97  # one in this number of nodes is in ERROR


def member(number: int) -> dict[str, Any]:
    """Return a node as an engine serializes it, about 370 bytes; ages and places vary."""
    created = FIRST_DAY + datetime.timedelta(minutes=number * 7919 % 500_000)
    return {
        'id': f'{number:08x}-7c1e-4d5a-9b0f-3e2d1c4b5a69',
        'name': f'web-{number:06}',
        'physical_id': f'{number:08x}-1f2e-4a3b-8c4d-6e5f7a8b9c0d',
        'index': number,
        'status': 'ERROR' if number % UNHEALTHY_EVERY == UNHEALTHY_EVERY - 1 else 'ACTIVE',
        'tainted': False,
        'created_at': created.strftime('%Y-%m-%dT%H:%M:%SZ'),
        'profile_id': PROFILE,
        'profile_created_at': '2026-01-01T00:00:00Z',
        'profile': None,
        'data': {'placement': {'zone': ZONES[number % 3], 'region_name': REGIONS[number % 2]}},
        'details': None,
    }


def shrinking(nodes: int) -> dict[str, Any]:
    """Return a CLUSTER_SCALE_IN by a tenth, as plain data."""
    policies = [region_policy(*REGIONS), zone_policy(*ZONES), deletion_policy('OLDEST_FIRST')]
    members = [member(number) for number in range(1, nodes + 1)]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': max(1, nodes // 10)})


def encoded(asked: dict[str, Any]) -> str:
    """Return the request as one JSON string."""
    return msgspec.json.encode(asked).decode()
