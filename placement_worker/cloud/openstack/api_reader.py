"""GET requests to OpenStack APIs: find the endpoint, retry, decode the response."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import TypeVar

from keystoneauth1.discover import EndpointData
from keystoneauth1.exceptions import CatalogException

from placement_worker.cloud.openstack import error_translation
from placement_worker.cloud.openstack.retry_policy import RetryPolicy, Service
from placement_worker.cloud.openstack.sessions import Access, Session
from placement_worker.contract.codec import decoder
from placement_worker.errors import ServiceFailed

T = TypeVar('T')


class ApiReader:
    def __init__(self, session: Session, access: Access, retry_policy: RetryPolicy) -> None:
        self.session = session
        self._access = access
        self._retry_policy = retry_policy

    def region_name(self, region: str | None) -> str | None:
        return region or self._access.region

    def endpoint(self, service_type: str, region: str | None) -> str | None:
        """Return the URL of a service without a slash at its end, or None if the region lacks it.

        :raises ServiceFailed: Keystone issues no token, or the configured region lacks it.
        """
        entry = self._entry(service_type, region)
        return entry.url.rstrip('/') if entry and entry.url else None

    def home_region(self, service_type: str) -> str | None:
        """Return the configured region, or else the region of a service's first endpoint.

        :raises ServiceFailed: Keystone issues no token, or the catalog has no such service.
        """
        if self._access.region:
            return self._access.region
        entry = self._entry(service_type, None)
        return entry.region_name if entry else None

    def _entry(self, service_type: str, region: str | None) -> EndpointData | None:
        wanted = self.region_name(region)
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
                'check region_name and valid_interfaces in [service_auth], or region_name and '
                'interface in clouds.yaml; openstack catalog list shows the endpoints'
            ) from exc

    def identity_endpoint(self) -> str:
        url = (self.session.plugin.auth_url or '').rstrip('/')
        return url if url.endswith('/v3') else f'{url}/v3'

    def get(
        self, service: Service, url: str, kind: type[T], params: Mapping[str, str] | None = None
    ) -> T:
        def request() -> T:
            try:
                response = self.session.get(
                    url,
                    params=dict(params or {}),
                    raise_exc=False,
                    headers={'Accept': 'application/json'},
                )
                if response.status_code < HTTPStatus.MULTIPLE_CHOICES:
                    return decoder(kind).decode(response.content)
            except error_translation.LIBRARY_ERRORS as exc:
                raise error_translation.translate(exc, url) from exc
            raise error_translation.from_response(response)

        return self._retry_policy.call(service, request)
