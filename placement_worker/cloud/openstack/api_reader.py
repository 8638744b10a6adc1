"""Read from a service's API: find its endpoint, ask with patience, decode what comes."""

from collections.abc import Mapping
from typing import TypeVar

from keystoneauth1.discover import EndpointData
from keystoneauth1.exceptions import CatalogException

from placement_worker.cloud.openstack import error_translation
from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.services import Service
from placement_worker.cloud.openstack.sessions import Access, Session
from placement_worker.contract.codec import decoder
from placement_worker.errors import ServiceFailed

T = TypeVar('T')
MULTIPLE_CHOICES = 300


class ApiReader:
    """Asks the services in the name of one session."""

    def __init__(self, session: Session, access: Access, retry_policy: RetryPolicy) -> None:
        self.session = session
        self._access = access
        self._retry_policy = retry_policy

    def endpoint(self, service_type: str, region: str | None) -> str | None:
        """The URL of a service in the catalog, without a slash at its end; None if a region is not
        there.

        :param region: None for the configured one, which has to be there.
        :raises ServiceFailed: Keystone gives no token; or the configured region has no such
            service.
        """
        entry = self._entry(service_type, region)
        return entry.url.rstrip('/') if entry and entry.url else None

    def home_region(self, service_type: str) -> str | None:
        """The configured region; if there is none, the one that a service is asked in then.

        :raises ServiceFailed: Keystone gives no token; or the catalog has no such service.
        """
        if self._access.region:
            return self._access.region
        entry = self._entry(service_type, None)
        return entry.region_name if entry else None

    def _entry(self, service_type: str, region: str | None) -> EndpointData | None:
        """What the catalog says of a service; as `endpoint`."""
        wanted = region or self._access.region
        catalog = self.session.log_in().service_catalog
        try:
            return catalog.endpoint_data_for(
                service_type=service_type,
                interface=list(self._access.interfaces),
                region_name=wanted,
            )
        except CatalogException as exc:
            if region is not None and region != self._access.region:
                return None
            interfaces = ' or '.join(self._access.interfaces)
            where = f' in region {wanted}' if wanted else ''
            raise ServiceFailed(
                f'The catalog has no {interfaces} endpoint of {service_type}{where}; '
                'check region_name and interface of [service_auth] and `openstack catalog list`'
            ) from exc

    def identity_endpoint(self) -> str:
        """The URL of Keystone's API v3: the one that we log in at."""
        url = (self.session.plugin.auth_url or '').rstrip('/')
        return url if url.endswith('/v3') else f'{url}/v3'

    def get(
        self, service: Service, url: str, kind: type[T], params: Mapping[str, str] | None = None
    ) -> T:
        """What the service answers to a GET.

        :raises ServiceFailed: it does not answer, or refuses to.
        """

        def once() -> T:
            try:
                answer = self.session.get(
                    url,
                    params=dict(params or {}),
                    raise_exc=False,
                    headers={'Accept': 'application/json'},
                )
                if answer.status_code < MULTIPLE_CHOICES:
                    return decoder(kind).decode(answer.content)
            except error_translation.LIBRARY_ERRORS as exc:
                raise error_translation.translate(exc, url) from exc
            raise error_translation.from_response(answer)

        return self._retry_policy.call(service, once)
