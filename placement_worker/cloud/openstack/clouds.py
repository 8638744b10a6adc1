"""OpenStack clouds, as the owners of clusters see them: Nova's zones, Keystone's regions, Neutron's
networks.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar
from uuid import UUID

from placement_worker.cloud import deadline
from placement_worker.cloud.openstack import responses, services
from placement_worker.cloud.openstack.api_reader import ApiReader
from placement_worker.cloud.openstack.retry_policy import LookupBudget, RetryPolicy
from placement_worker.cloud.openstack.sessions import Access, Session, Sessions
from placement_worker.cloud.ports import Network, Octavia, Subnet
from placement_worker.contract.model import Credentials, ServerDetails
from placement_worker.errors import CredentialsRefused, InvalidInput, ServiceFailed, ServiceRefused

T = TypeVar('T')
PAGE = 1000
"""Servers asked for at a time; Nova gives fewer if its max_limit says so."""


class OpenStackClouds:
    """The clouds of all owners. Threads share it; it opens nothing before it is asked, so that it
    may be forked.
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
        """Say how it is reached.

        :param retry_policy: with services that do not answer; its `budget_s` is for all look-ups of a
            check together.
        :param max_sessions: of trusts that are kept.
        :param validity_ttl_s: how long an answer about zones and regions is kept.
        :param allow_service_credentials: whether a request without a trust may use the service
            user's own rights.
        """
        self.access = access
        self.retry_policy = retry_policy
        self.validity_ttl_s = validity_ttl_s
        self._allow_service_credentials = allow_service_credentials
        self.sessions = Sessions(access, retry_policy, max_sessions)

    def acting_for(self, credentials: Credentials, project: str | None) -> 'OpenStackCloud':
        """As `Clouds.acting_for`.

        :raises CredentialsRefused: there is no trust, or it is of another project.
        :raises ServiceFailed: Keystone gives no token for the trust.
        """
        if not credentials.trust_id:
            if not self._allow_service_credentials:
                raise CredentialsRefused(
                    'The request has no trust: `credentials.trust_id` has to be a trust of the owner of the cluster '
                    "for the service user ([cloud] allow_service_credentials would let it use that user's own rights)"
                )
            return OpenStackCloud(self, self.sessions.of(None), project)
        cloud = OpenStackCloud(self, self.sessions.of(credentials.trust_id), project)
        held = cloud.project
        if held != project:
            raise CredentialsRefused(
                f'The trust is of project {held}, the cluster of project {project}: it takes a trust of the owner of '
                'the cluster'
            )
        return cloud

    def acting_as_service(self) -> 'OpenStackCloud':
        """As `Clouds.acting_as_service`."""
        return OpenStackCloud(self, self.sessions.of(None), None)


class _Call(Generic[T]):
    """A question that knows whether it was asked."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self.was_asked = False

    def __call__(self) -> T:
        self.was_asked = True
        return self._ask()


class OpenStackCloud:
    """One project's view, for one check: all its look-ups together have the budget of the
    patience.
    """

    def __init__(self, clouds: OpenStackClouds, session: Session, project: str | None) -> None:
        self._clouds = clouds
        self._session = session
        self._project = project
        self._api = ApiReader(session, clouds.access, clouds.retry_policy)
        self._lookup_budget = LookupBudget(clouds.retry_policy.budget_s)

    @property
    def project(self) -> str | None:
        """The project of the session.

        :raises ServiceFailed: Keystone gives no token.
        """
        with self._lookup_budget.spending():
            return self._session.project

    @property
    def home_region(self) -> str | None:
        """The `region_name` of [service_auth]; None without one."""
        return self._clouds.access.region

    @property
    def load_balancer_region(self) -> str | None:
        """The region for load balancers: the home region, else that of the catalog's first
        Octavia.
        """
        with self._lookup_budget.spending():
            return self._api.home_region('load-balancer')

    def zones(self, region: str | None) -> Mapping[str, bool]:
        """As `Cloud.zones`."""
        return self._share(
            ('zones', self._named(region)), partial(self._ask_zones, region), keep=True
        )

    def regions(self) -> Collection[str]:
        """As `Cloud.regions`."""
        return self._share(('regions',), self._ask_regions, keep=True)

    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        """As `Cloud.servers`: from listings of the project's servers, never a request a server."""
        wanted = frozenset(server_ids)
        if not wanted:
            return {}
        question = ('servers', self._named(region))
        ask = _Call(partial(self._list_servers, region, wanted))
        found = self._share(question, ask)
        doubtful = frozenset(
            one for one in wanted if one not in found or not found[one].is_complete
        )
        if (
            doubtful and not ask.was_asked
        ):  # who listed them wanted others, or began before these were there
            again = self._share(
                (*question, doubtful), partial(self._list_servers, region, doubtful)
            )
            found = {**found, **again}
        return {
            one: ServerDetails(found[one].availability_zone, found[one].addresses)
            for one in wanted & found.keys()
        }

    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        """As `Cloud.subnet`."""
        row = self._find('subnets', responses.Subnets, region, name_or_id)
        network = row and self.network(region, row.network_id)
        return Subnet(row.id, row.name, network, row.ip_version) if row and network else None

    def network(self, region: str | None, name_or_id: str) -> Network | None:
        """As `Cloud.network`."""
        row = self._find('networks', responses.Networks, region, name_or_id)
        return Network(row.id, row.name) if row else None

    def octavia(self, region: str | None) -> Octavia:
        """As `Cloud.octavia`."""
        from placement_worker.cloud.openstack.octavia_api import OctaviaApi  # noqa: PLC0415  # 13 MB that placement needs not

        url = self._api.endpoint('load-balancer', region)
        if url is None:
            raise ServiceFailed(f'The catalog has no load-balancer service in region {region}')
        return OctaviaApi(self._session, self._named(region), self._clouds.access.interfaces, url)

    def _share(
        self, question: tuple[Hashable, ...], ask: Callable[[], T], *, keep: bool = False
    ) -> T:
        """The answer to what all checks of the project may ask at once.

        Whoever asks for all may be refused, as its trust is gone; then we ask ourselves.
        """
        asking = _Call(ask)
        keep_s = self._clouds.validity_ttl_s if keep else 0

        def share(question: tuple[Hashable, ...], ask: Callable[[], T]) -> T:
            wait_s = deadline.left_s(self._clouds.retry_policy.budget_s)
            return self._clouds.sessions.single_flight.do(
                question, ask, wait_s=wait_s, cache_s=keep_s
            )

        with self._lookup_budget.spending():
            owner = self._project or self._session.project
            try:
                return share((owner, *question), asking)
            except ServiceRefused:
                if asking.was_asked:
                    raise
                return share((owner, *question, self._session.trust_id), ask)

    def _named(self, region: str | None) -> str | None:
        return region or self._clouds.access.region

    def _ask_zones(self, region: str | None) -> dict[str, bool]:
        base = self._api.endpoint('compute', region)
        if base is None:
            return {}
        found = self._api.get(
            services.compute(self._named(region)), f'{base}/os-availability-zone', responses.Zones
        )
        return {zone.zone_name: zone.zone_state.available for zone in found.zones}

    def _ask_regions(self) -> frozenset[str]:
        url = f'{self._api.identity_endpoint()}/regions'
        return frozenset(
            region.id
            for region in self._api.get(services.identity(), url, responses.Regions).regions
        )

    def _list_servers(
        self, region: str | None, wanted: frozenset[str]
    ) -> dict[str, responses.Server]:
        """The project's servers by their ids, the youngest first, at least as far as all wanted
        ones were seen.
        """
        base = self._api.endpoint('compute', region)
        if base is None:
            return {}
        service, params = (
            services.compute(self._named(region)),
            {'limit': str(PAGE), **self._of_project()},
        )
        seen: dict[str, responses.Server] = {}
        while True:
            page = self._api.get(service, f'{base}/servers/detail', responses.Servers, params)
            news = {server.id: server for server in page.servers if server.id not in seen}
            seen.update(news)
            if not (news and page.has_more) or seen.keys() >= wanted:
                return seen
            params['marker'] = page.servers[-1].id

    def _of_project(self) -> dict[str, str]:
        """What lets the service user see the servers of a project that is not its own."""
        if self._project is None or self._session.project == self._project:
            return {}
        return {'all_tenants': '1', 'project_id': self._project}

    def _find(
        self, what: str, kind: type[responses.Rows[T]], region: str | None, name_or_id: str
    ) -> T | None:
        """The one object of Neutron that has this id or name.

        :raises InvalidInput: several have this name.
        """
        with self._lookup_budget.spending():
            base = self._api.endpoint('network', region)
            if base is None:
                return None
            url = (base if base.endswith('/v2.0') else f'{base}/v2.0') + f'/{what}'
            service = services.network(self._named(region))
            rows: Sequence[T] = []
            for key in ('id', 'name') if _is_id(name_or_id) else ('name', 'id'):
                rows = rows or self._api.get(service, url, kind, {key: name_or_id}).rows
        if len(rows) > 1:
            raise InvalidInput(
                f'{len(rows)} {what} have the name `{name_or_id}`{service.where}: use the id of one of them'
            )
        return rows[0] if rows else None


def _is_id(text: str) -> bool:
    """Whether it looks like an id of Neutron."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
