"""The OpenStack cloud of one project: lookups that checks of the project share."""

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import Generic, TypeVar

from typing_extensions import override

from placement_worker.cloud import time_budget
from placement_worker.cloud.openstack import neutron, nova, responses, services
from placement_worker.cloud.openstack.api_reader import ApiReader
from placement_worker.cloud.openstack.lookup_limits import LookupBudget
from placement_worker.cloud.openstack.sessions import Access, Session, Sessions
from placement_worker.cloud.ports import Cloud, Network, Octavia, Subnet
from placement_worker.contract.model import ServerDetails
from placement_worker.errors import ServiceFailed, ServiceRefused

T = TypeVar('T')


class _Call(Generic[T]):
    """A lookup that records whether it was made."""

    def __init__(self, lookup: Callable[[], T]) -> None:
        self._lookup = lookup
        self.was_made = False

    def __call__(self) -> T:
        self.was_made = True
        return self._lookup()


class ProjectCloud(Cloud):
    """The cloud of one project during one check.

    All lookups of the check share the time budget of the retry policy. Checks of the same project
    share lookups that run at the same time.
    """

    def __init__(
        self,
        access: Access,
        sessions: Sessions,
        session: Session,
        project: str | None,
        validity_ttl_s: float,
    ) -> None:
        """Set the session and the project.

        :param project: None for the project of the session.
        :param validity_ttl_s: how long zones and regions are cached.
        """
        self._access = access
        self._sessions = sessions
        self._session = session
        self._project = project
        self._validity_ttl_s = validity_ttl_s
        self._api = ApiReader(session, access, sessions.retry_policy)
        self._lookup_budget = LookupBudget(sessions.retry_policy.budget_s)

    @property
    def project(self) -> str | None:
        """The project of the session.

        :raises ServiceFailed: Keystone issues no token.
        """
        with self._lookup_budget.spending():
            return self._session.project

    @property
    @override
    def home_region(self) -> str | None:
        return self._access.region

    @property
    @override
    def load_balancer_region(self) -> str | None:
        with self._lookup_budget.spending():
            return self._api.home_region('load-balancer')

    @override
    def zones(self, region: str | None) -> Mapping[str, bool]:
        key = ('zones', self._api.region_name(region))
        return self._share(key, partial(nova.zones, self._api, region), self._validity_ttl_s)

    @override
    def regions(self) -> Collection[str]:
        return self._share(('regions',), self._list_regions, self._validity_ttl_s)

    @override
    def servers(
        self, region: str | None, server_ids: Collection[str]
    ) -> Mapping[str, ServerDetails]:
        if not server_ids:
            return {}
        found = self._list_servers(region, frozenset(server_ids))
        return {
            one: ServerDetails(found[one].availability_zone, found[one].addresses)
            for one in set(server_ids) & found.keys()
        }

    @override
    def subnet(self, region: str | None, name_or_id: str) -> Subnet | None:
        with self._lookup_budget.spending():
            row = neutron.subnet(self._api, region, name_or_id)
        network = row and self.network(region, row.network_id)
        return Subnet(row.id, row.name, network, row.ip_version) if row and network else None

    @override
    def network(self, region: str | None, name_or_id: str) -> Network | None:
        with self._lookup_budget.spending():
            row = neutron.network(self._api, region, name_or_id)
        return Network(row.id, row.name) if row else None

    @override
    def octavia(self, region: str | None) -> Octavia:
        from placement_worker.cloud.openstack.octavia_api import OctaviaApi  # noqa: PLC0415  # 13 MB that placement policies do not need

        url = self._api.endpoint('load-balancer', region)
        if url is None:
            raise ServiceFailed(f'The catalog has no load-balancer service in region {region}')
        name = self._api.region_name(region)
        return OctaviaApi(self._session, name, self._access.interfaces, url)

    def _list_servers(
        self, region: str | None, wanted: frozenset[str]
    ) -> Mapping[str, responses.Server]:
        """List servers of the project, with as few requests as possible."""
        key = ('servers', self._api.region_name(region))
        call = _Call(partial(nova.servers, self._api, region, self._project, wanted))
        found = self._share(key, call)
        missing = frozenset(one for one in wanted if one not in found or not found[one].is_complete)
        if call.was_made or not missing:
            return found
        # The shared listing may be incomplete or stale: another check chose where it stops, and
        # it may have started before these servers were created.
        lookup = partial(nova.servers, self._api, region, self._project, missing)
        return {**found, **self._share((*key, missing), lookup)}

    def _share(self, key: tuple[Hashable, ...], lookup: Callable[[], T], cache_s: float = 0) -> T:
        """Share a lookup with all checks of the project.

        The trust of another check may have been deleted. If the service refuses its request, this
        check makes the lookup with its own trust.
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
        url = f'{self._api.identity_endpoint()}/regions'
        found = self._api.get(services.identity(), url, responses.Regions)
        return frozenset(region.id for region in found.regions)
