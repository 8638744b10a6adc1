"""Lookups in Nova: availability zones and servers."""

from collections.abc import Collection

from placement_worker.cloud.openstack import responses, services
from placement_worker.cloud.openstack.api_reader import ApiReader

PAGE = 1000
"""Servers per page; Nova returns fewer if its max_limit is lower."""


def zones(api: ApiReader, region: str | None) -> dict[str, bool]:
    """Return the availability zones of a region: name -> available."""
    base = api.endpoint('compute', region)
    if base is None:
        return {}
    service = services.compute(api.region_name(region))
    found = api.get(service, f'{base}/os-availability-zone', responses.Zones)
    return {zone.zone_name: zone.zone_state.available for zone in found.zones}


def servers(
    api: ApiReader, region: str | None, project: str | None, wanted: Collection[str]
) -> dict[str, responses.Server]:
    """List the servers of a project by id, the newest first.

    The listing stops after the page that contains the last wanted server.

    :param project: None for the project of the session.
    :param wanted: ids of servers.
    """
    base = api.endpoint('compute', region)
    if base is None:
        return {}
    service = services.compute(api.region_name(region))
    params = {'limit': str(PAGE), **_project_filter(api, project)}
    seen: dict[str, responses.Server] = {}
    while True:
        page = api.get(service, f'{base}/servers/detail', responses.Servers, params)
        news = {server.id: server for server in page.servers if server.id not in seen}
        seen.update(news)
        if not (news and page.has_more) or seen.keys() >= set(wanted):
            return seen
        params['marker'] = page.servers[-1].id


def _project_filter(api: ApiReader, project: str | None) -> dict[str, str]:
    """Return the parameters that show the service user the servers of another project."""
    if project is None or api.session.project == project:
        return {}
    return {'all_tenants': '1', 'project_id': project}
