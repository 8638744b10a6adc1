"""Checks of a plain user's cluster, and their results."""

from collections.abc import Iterable, Sequence
from typing import Any

from tests.factories import request, zone_policy
from tests.integration import trusts
from tests.integration.cloud import Cloud
from tests.integration.service import Request, matching

Json = dict[str, Any]
TOKENS, ZONES, REGIONS, SERVERS = (
    '/auth/tokens',
    '/os-availability-zone',
    '/v3/regions',
    '/servers/detail',
)
ZONES_ONE = ('az1', 'az2', 'az3')


def scale_out(
    openstack: Cloud,
    trust_id: str | None,
    policies: Sequence[Json] = (),
    members: Iterable[Json] = (),
    count: int = 6,
    **more: Any,
) -> Json:
    """Return a check that looks up the zones of RegionOne, unless other policies are given."""
    asked = request(
        'CLUSTER_SCALE_OUT',
        policies or [zone_policy(*ZONES_ONE)],
        list(members),
        inputs={'count': count},
        **more,
    )
    asked['cluster']['project'] = trusts.project_of(openstack)
    return {**asked, 'credentials': {'trust_id': trust_id}}


def decided(reply: Json) -> Json:
    """Return the data of a successful check."""
    data = reply['action']['data']
    assert data['status'] == 'OK', data['reason']
    return dict(data)


def refused(reply: Json) -> str:
    """Return the reason of a failed check."""
    data = reply['action']['data']
    assert data['status'] == 'ERROR'
    reason = str(data['reason'])
    assert 'Traceback' not in reason
    assert '\n' not in reason
    return reason


def sent(seen: Iterable[Request], target: str = '') -> list[str]:
    """Return the requests that the worker sent, e.g. 'GET /v3/regions'.

    The services send requests to Keystone too.
    """
    requests = matching(seen, target=target)
    return [
        f'{request.method} {request.target}'
        for request in requests
        if request.agent.startswith('placement-worker')
    ]
