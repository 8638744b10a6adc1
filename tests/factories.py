"""Factories of small requests for tests."""

import copy
import datetime
from collections.abc import Callable, Sequence
from typing import Any

Json = dict[str, Any]
# A name, or a name with its weight and, of a region, its cap.
Place = str | tuple[str, int] | tuple[str, int, int]
# The time of a decision, for tests that set it.
NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def node(number: int, zone: str | None = None, region: str | None = None, **more: Any) -> Json:
    """Return a healthy node that was created on the day of its number."""
    placement = {
        key: value for key, value in (('zone', zone), ('region_name', region)) if value is not None
    }
    return {
        'id': f'n{number}',
        'index': number,
        'status': 'ACTIVE',
        'created_at': f'2026-01-{number:02}T00:00:00Z',
        'profile_created_at': '2026-01-01T00:00:00Z',
        'data': {'placement': placement} if placement else {},
        **more,
    }


def nodes(**zones: int) -> list[Json]:
    """Return as many nodes in each zone as asked for, with consecutive numbers."""
    named = [zone for zone, count in zones.items() for _ in range(count)]
    return [node(number, zone) for number, zone in enumerate(named, start=1)]


def zone_policy(*zones: Place, **more: Any) -> Json:
    return _binding('zone_placement', '1.0', {'zones': _listed(zones)}, **more)


def region_policy(*regions: Place, **more: Any) -> Json:
    return _binding('region_placement', '1.0', {'regions': _listed(regions)}, **more)


def spreading(placement: Json, **spread: Any) -> Json:
    """Return version 1.1 of a placement policy, with the given keys of `spread`."""
    spec = placement['spec']
    properties = {**spec['properties'], 'spread': spread}
    return {**placement, 'spec': {**spec, 'version': '1.1', 'properties': properties}}


def redistributing(placement: Json, **on_shortage: Any) -> Json:
    """Return version 1.1 of a placement policy, with the given keys of `on_shortage`."""
    spec = placement['spec']
    properties = {**spec['properties'], 'on_shortage': on_shortage}
    return {**placement, 'spec': {**spec, 'version': '1.1', 'properties': properties}}


def refused(
    number: int, zone: str | None = None, region: str | None = None, minutes: float = 1, **more: Any
) -> Json:
    """Return a node whose creation failed for lack of capacity, some minutes before NOW."""
    failure = {
        'status': 'ERROR',
        'created_at': None,
        'status_reason': 'No valid host was found. There are not enough hosts available.',
        'updated_at': (NOW - datetime.timedelta(minutes=minutes)).isoformat(),
    }
    return node(number, zone, region, **{**failure, **more})


def deletion_policy(
    criteria: str = 'OLDEST_FIRST', *, version: str = '1.1', **properties: Any
) -> Json:
    return _binding('deletion', version, {'criteria': criteria, **properties})


def load_balancing_policy(
    *, version: str = '1.1', data: Json | None = None, **properties: Any
) -> Json:
    """Return a policy with its own load balancer, unless the properties name an existing one.

    Its subnet is that of `simulated_octavia.Lab`.
    """
    subnet = {'subnet': 'private-subnet'}
    own = {} if 'loadbalancer' in properties else {'vip': subnet}
    merged = {'pool': subnet, **own, **properties}
    merged['pool'] = {**subnet, **merged['pool']}
    return _binding('loadbalance', version, merged, data=data or {})


def connected(number: int, **more: Any) -> Json:
    """Return a node with an address on the network of `simulated_octavia.Lab`."""
    address = {'addr': f'10.0.0.{number}', 'version': 4}
    return node(number, details={'addresses': {'private': [address]}}, **more)


def bind(policy: Json, members: Sequence[Json] = (), **more: Any) -> Json:
    """Return a request to attach or detach a policy.

    :param more: `expires_at` of the request; anything else goes to the cluster.
    """
    asked = request('', (), members)
    top = {key: more.pop(key) for key in ('expires_at',) if key in more}
    return {'cluster': {**asked['cluster'], **more}, 'policy': policy, **top}


def request(
    action: str, policies: Sequence[Json], members: Sequence[Json] = (), **more: Any
) -> Json:
    """Return a request for a BEFORE check.

    :param more: keys of the request or the cluster; anything else goes to the action.
    """
    top = {
        key: more.pop(key)
        for key in ('target', 'explain', 'dry_run', 'expires_at', 'reply_to')
        if key in more
    }
    of_cluster = ('min_size', 'max_size', 'desired_capacity', 'profile')
    cluster = {key: more.pop(key) for key in of_cluster if key in more}
    return {
        'target': 'BEFORE',
        **top,
        'action': {'id': 'act-1', 'action': action, **more},
        'cluster': {
            'id': 'c1',
            'name': 'web',
            'project': 'p1',
            'profile': {'id': 'pr1', 'type': 'os.nova.server-1.0'},
            'nodes': list(members),
            **cluster,
        },
        'policies': list(policies),
    }


def rebalance(
    policies: Sequence[Json], members: Sequence[Json], *, options: Json | None = None, **more: Any
) -> Json:
    """Return a request for a rebalance.

    :param more: keys of the cluster.
    """
    cluster = {**request('', (), members)['cluster'], **more}
    return {'cluster': cluster, 'policies': list(policies), 'options': options or {}}


def changed(original: Json, change: Callable[[Json], object]) -> Json:
    copied = copy.deepcopy(original)
    change(copied)
    return copied


def _listed(places: Sequence[Place]) -> list[Json]:
    parts = [(place,) if isinstance(place, str) else place for place in places]
    return [dict(zip(('name', 'weight', 'cap'), of_place, strict=False)) for of_place in parts]


def _binding(kind: str, version: str, properties: Json, **more: Any) -> Json:
    spec = {'type': f'senlin.policy.{kind}', 'version': version, 'properties': properties}
    return {'id': f'pol-{kind}', 'name': kind, 'spec': spec, **more}
