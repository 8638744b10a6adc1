"""OpenStack as the cloud of one project: zones and servers of Nova, regions, networks, endpoints.

Many checks of one project run at the same time, and ask for the same things: they share lookups in
progress, but each one has its own trust and its own time budget. A shared lookup that fails for the
trust or the time of another check is therefore repeated.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import Generic, TypeVar

from msgspec import Struct
from typing_extensions import override

from placement_worker.cloud import time_budget
from placement_worker.cloud.openstack.octavia_api import OctaviaApi
from placement_worker.cloud.openstack.retry_policy import LookupBudget, RetryPolicy, Service
from placement_worker.cloud.openstack.sessions import Access, Session, Sessions
from placement_worker.cloud.ports import Cloud, Clouds, Network, Octavia, Subnet
from placement_worker.contract.model import Credentials, ServerDetails
from placement_worker.errors import CredentialsRefused, InvalidInput, ServiceFailed, ServiceRefused

T = TypeVar('T')
_PAGE = 1000  # servers per page; Nova returns fewer if its max_limit is lower


class _ZoneState(Struct, frozen=True):
    available: bool  # whether one of its hosts is up


class _Zone(Struct, frozen=True, rename='camel'):
    zone_name: str
    zone_state: _ZoneState


class _Server(ServerDetails, frozen=True, kw_only=True):
    id: str


class _Region(Struct, frozen=True):
    id: str


class _Subnet(Struct, frozen=True):
    id: str
    name: str
    network_id: str
    ip_version: int
    cidr: str | None = None


class OpenStackClouds(Clouds):
    """The clouds of all cluster owners.

    The class is thread-safe. It opens no connection before the first lookup, so a process may fork
    after its creation.
    """

    def __init__(
        self,
        access: Access,
        *,
        retry_policy: RetryPolicy = RetryPolicy(),  # noqa: B008  # frozen
        max_sessions: int = 256,
        validity_ttl_s: float = 0,
        allow_service_credentials: bool = False,
    ) -> None:
        """Set the parameters of the connection.

        :param retry_policy: all lookups of a check share its `budget_s`.
        :param validity_ttl_s: how long zones and regions are cached.
        :param allow_service_credentials: whether a request without a trust may use the rights of
            the service user.
        """
        self.access = access
        self.retry_policy = retry_policy
        self.validity_ttl_s = validity_ttl_s
        self._allow_service_credentials = allow_service_credentials
        self.sessions = Sessions(access, retry_policy, max_sessions)

    @override
    def acting_for(self, credentials: Credentials, project: str | None) -> 'ProjectCloud':
        if not credentials.trust_id and not self._allow_service_credentials:
            raise CredentialsRefused(
                'The request has no trust: set `credentials.trust_id` to a trust from the owner '
                'of the cluster to the service user, or enable [cloud] allow_service_credentials '
                "to use that user's own rights"
            )
        cloud = self._cloud(credentials.trust_id, project)
        if credentials.trust_id and cloud.project != project:
            raise CredentialsRefused(
                f'The trust belongs to project {cloud.project}, but the cluster belongs to project '
                f'{project}: send a trust from the owner of the cluster'
            )
        return cloud

    @override
    def acting_as_service(self) -> 'ProjectCloud':
        return self._cloud(None, None)

    def _cloud(self, trust_id: str | None, project: str | None) -> 'ProjectCloud':
        session = self.sessions.session_of(trust_id or None)
        return ProjectCloud(self.sessions, session, project, self.validity_ttl_s)


class ProjectCloud(Cloud):
    """The cloud of one project during one check; its lookups share one time budget."""

    def __init__(
        self, sessions: Sessions, session: Session, project: str | None, validity_ttl_s: float
    ) -> None:
        self._sessions = sessions
        self._session = session
        self._project = project
        self._validity_ttl_s = validity_ttl_s
        self._lookup_budget = LookupBudget(sessions.retry_policy.budget_s)

    @property
    def project(self) -> str | None:
        with self._lookup_budget.spending():
            return self._session.project

    @property
    @override
    def home_region(self) -> str | None:
        return self._session.access.region

    @property
    @override
    def load_balancer_region(self) -> str | None:
        with self._lookup_budget.spending():
            return self._session.home_region('load-balancer')

    @override
    def zones(self, region: str | None) -> Mapping[str, bool]:
        key = ('zones', self._session.region_name(region))
        return self._share(key, partial(self._list_zones, region), self._validity_ttl_s)

    @override
    def regions(self) -> Collection[str]:
        return self._share(('regions',), self._list_regions, self._validity_ttl_s)

    @override
    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        wanted = frozenset(server_ids)
        if not wanted:
            return {}
        servers = self._shared_servers(region, wanted)
        return {
            server.id: ServerDetails(server.availability_zone, server.addresses)
            for server in map(servers.__getitem__, wanted & servers.keys())
        }

    @override
    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        row = self._find(region, 'subnets', list[_Subnet], name_or_id)
        network = self.network(region, row.network_id) if row else None
        if row is None or network is None:
            return None
        return Subnet(row.id, row.name, network, row.ip_version, row.cidr)

    @override
    def network(self, region: str | None, name_or_id: str) -> Network | None:
        return self._find(region, 'networks', list[Network], name_or_id)

    @override
    def octavia(self, region: str | None) -> Octavia:
        url = self._session.endpoint('load-balancer', region)
        if url is None:
            raise ServiceFailed(f'The catalog has no load-balancer service in region {region}')
        return OctaviaApi(self._session, url)

    def _shared_servers(self, region: str | None, wanted: frozenset[str]) -> Mapping[str, _Server]:
        key = ('servers', self._session.region_name(region))
        call = _Call(partial(self._list_servers, region, wanted))
        listed = self._share(key, call)
        # A server that is being built lacks zone and addresses.
        complete = {row.id for row in listed.values() if row.availability_zone and row.addresses}
        missing = wanted - complete
        if call.was_made or not missing:
            return listed
        # The shared listing may be incomplete or stale: another check chose where it stops, and
        # it may have started before these servers were created.
        lookup = partial(self._list_servers, region, missing)
        return {**listed, **self._share((*key, missing), lookup)}

    def _share(self, key: tuple[Hashable, ...], lookup: Callable[[], T], cache_s: float = 0) -> T:
        """Share a lookup with all checks of the project.

        The trust of another check may have been deleted: then this check uses its own trust.
        """
        call = _Call(lookup)
        with self._lookup_budget.spending():
            owner = self._project or self._session.project
            try:
                return self._do((owner, *key), call, cache_s)
            except ServiceRefused:
                if call.was_made:
                    raise
                return self._do((owner, *key, self._session.trust_id), lookup, cache_s)

    def _do(self, key: Hashable, lookup: Callable[[], T], cache_s: float) -> T:
        wait_s = time_budget.left_s(self._sessions.retry_policy.budget_s)
        return self._sessions.single_flight.do(key, lookup, wait_s=wait_s, cache_s=cache_s)

    def _list_regions(self) -> frozenset[str]:
        service = Service.lets('Identity', None, 'list regions')
        url = f'{self._session.identity_endpoint}/regions'
        regions, _ = self._session.read_page(service, url, 'regions', list[_Region])
        return frozenset(region.id for region in regions)

    def _list_zones(self, region: str | None) -> dict[str, bool]:
        base = self._session.endpoint('compute', region)
        if base is None:
            return {}
        zones, _ = self._session.read_page(
            self._compute(region),
            f'{base}/os-availability-zone',
            'availabilityZoneInfo',
            list[_Zone],
        )
        return {zone.zone_name: zone.zone_state.available for zone in zones}

    def _list_servers(self, region: str | None, wanted: frozenset[str]) -> dict[str, _Server]:
        """List servers, the newest first, up to the page that contains the last wanted one."""
        base = self._session.endpoint('compute', region)
        if base is None:
            return {}
        params = {'limit': str(_PAGE)}
        if self._project is not None and self._session.project != self._project:
            # The service user sees the servers of another project.
            params |= {'all_tenants': '1', 'project_id': self._project}
        seen: dict[str, _Server] = {}
        while True:
            servers, has_more = self._session.read_page(
                self._compute(region), f'{base}/servers/detail', 'servers', list[_Server], params
            )
            news = {server.id: server for server in servers if server.id not in seen}
            seen.update(news)
            if not (news and has_more) or seen.keys() >= wanted:
                return seen
            params['marker'] = servers[-1].id

    def _compute(self, region: str | None) -> Service:
        name = self._session.region_name(region)
        return Service.lets('Compute', name, 'list availability zones and servers')

    def _find(
        self, region: str | None, collection: str, rows_type: type[list[T]], name_or_id: str
    ) -> T | None:
        rows: list[T] = []
        name = self._session.region_name(region)
        service = Service.lets('Network', name, 'list networks and subnets')
        with self._lookup_budget.spending():
            base = self._session.endpoint('network', region)
            if base is None:
                return None
            url = f'{base.removesuffix("/v2.0")}/v2.0/{collection}'
            for key in ('id', 'name'):
                if not rows:
                    rows, _ = self._session.read_page(
                        service, url, collection, rows_type, {key: name_or_id}
                    )
        if len(rows) > 1:
            raise InvalidInput(
                f'{len(rows)} {collection} have the name `{name_or_id}`{service.where}: '
                'use the id of one of them'
            )
        return rows[0] if rows else None


class _Call(Generic[T]):
    """A lookup that records whether it was made."""

    def __init__(self, lookup: Callable[[], T]) -> None:
        self._lookup = lookup
        self.was_made = False

    def __call__(self) -> T:
        self.was_made = True
        return self._lookup()
