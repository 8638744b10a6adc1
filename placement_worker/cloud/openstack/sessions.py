"""Keystone sessions of a trust or of the service user: their tokens, endpoints and requests.

Sessions are cached, so that a check usually needs no new token. A token may be refused at any time,
and many threads notice it at once: they must get one new token together, and no thread may discard
the new one. Neither a trust id nor a token may reach a log or an error.
"""

import functools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
import requests
from keystoneauth1 import session as keystone
from keystoneauth1.access import AccessInfo
from keystoneauth1.discover import EndpointData
from keystoneauth1.exceptions import CatalogException
from keystoneauth1.identity import BaseIdentityPlugin
from typing_extensions import override

from placement_worker.cloud import time_budget
from placement_worker.cloud.openstack import error_translation, http
from placement_worker.cloud.openstack.retry_policy import (
    TRUST_LOGIN,
    USER_LOGIN,
    RetryPolicy,
    Service,
)
from placement_worker.cloud.ports import ApiError, current_request_id
from placement_worker.cloud.single_flight import SingleFlight
from placement_worker.contract.codec import decoder
from placement_worker.errors import ServiceFailed

T = TypeVar('T')

# A logger that writes complete token bodies, including trust ids, at level DEBUG.
_TRUST_LOGGER = 'keystoneauth.identity.v3.base'


def _is_no_debug(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG


@dataclass(frozen=True, slots=True)
class Access:
    """The parameters of the connection to a cloud.

    :ivar log_in: a function that returns the authentication plugin of the service user, scoped to
        the trust with this id, or to the user's own project for None.
    :ivar region: the default region; None for the first region of the catalog.
    :ivar interfaces: the interfaces of the catalog, in the order of preference.
    :ivar connection: further arguments of keystoneauth's Session: verify, cert, timeout.
    """

    log_in: Callable[[str | None], BaseIdentityPlugin]
    region: str | None
    interfaces: Sequence[str]
    connection: Mapping[str, Any]


class Session(keystone.Session):
    """A session of one trust; all threads share its token."""

    def __init__(self, trust_id: str | None, access: Access, shared: 'Sessions') -> None:
        self.plugin = access.log_in(trust_id)
        super().__init__(
            self.plugin,
            session=shared.connections,
            discovery_cache=shared.discovered,
            app_name='placement-worker',
            **access.connection,
        )
        self.access = access
        self.trust_id = trust_id
        self._shared = shared
        self._service = TRUST_LOGIN if trust_id else USER_LOGIN
        self._project: str | None = None
        self._sent = threading.local()
        self._discarded = 0
        self._discard_lock = threading.Lock()

    @property
    def project(self) -> str | None:
        """The project of the trust or of the service user, which never changes.

        :raises ServiceFailed: Keystone issues no token.
        """
        if self._project is None:
            self._project = self.log_in().project_id
        return self._project

    def log_in(self) -> AccessInfo:
        """Return the content of the current token, or of a new one if it is about to expire.

        :raises ServiceFailed: Keystone issues no token.
        """
        left_s = time_budget.left_s(self._shared.retry_policy.budget_s)
        call = functools.partial(self._shared.retry_policy.call, self._service, self._log_in)
        # A login that began before a token was discarded may return that token.
        key = ('token', self.trust_id, self._discarded)
        return self._shared.single_flight.do(key, call, wait_s=left_s)

    def region_name(self, region: str | None) -> str | None:
        return region or self.access.region

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
        if self.access.region:
            return self.access.region
        entry = self._entry(service_type, None)
        return entry.region_name if entry else None

    def _entry(self, service_type: str, region: str | None) -> EndpointData | None:
        wanted = self.region_name(region)
        catalog = self.log_in().service_catalog
        try:
            return catalog.endpoint_data_for(
                service_type=service_type,
                interface=list(self.access.interfaces),
                region_name=wanted,
            )
        except CatalogException as exc:
            if region is not None and region != self.access.region:
                return None
            interfaces = ' or '.join(self.access.interfaces)
            where = f' in region {wanted}' if wanted else ''
            raise ServiceFailed(
                f'The catalog has no {interfaces} endpoint of {service_type}{where}; '
                'check region_name and valid_interfaces in [service_auth], or region_name and '
                'interface in clouds.yaml; openstack catalog list shows the endpoints'
            ) from exc

    @property
    def identity_endpoint(self) -> str:
        url = (self.plugin.auth_url or '').rstrip('/')
        return url if url.endswith('/v3') else f'{url}/v3'

    def read_page(
        self,
        service: Service,
        url: str,
        key: str,
        rows: type[T],
        params: Mapping[str, str] | None = None,
    ) -> tuple[T, bool]:
        """Send a GET request, and return the rows of the page and whether another page follows.

        Raises as `RetryPolicy.call`.

        :param key: that of the rows in the response; the key of the links is `{key}_links`.
        :param rows: the type of the rows: a list.
        """

        def request() -> tuple[T, bool]:
            try:
                response = self.get(url, params=dict(params or {}), raise_exc=False)
                if response.status_code < HTTPStatus.MULTIPLE_CHOICES:
                    return page_of(response, key, rows)
            except error_translation.LIBRARY_ERRORS as exc:
                raise error_translation.translate(exc, url) from exc
            raise error_translation.from_response(response)

        return self._shared.retry_policy.call(service, request)

    @override
    def request(self, *args: Any, **kwargs: Any) -> Any:
        kwargs['global_request_id'] = kwargs.get('global_request_id') or current_request_id()
        kwargs['headers'] = {'Accept': 'application/json', **(kwargs.get('headers') or {})}
        return super().request(*args, **kwargs)

    @override
    def get_auth_headers(self, auth: Any = None, **kwargs: Any) -> dict[str, str] | None:
        self._sent.token = self.log_in().auth_token
        return {'X-Auth-Token': self._sent.token}

    @override
    def invalidate(self, auth: Any = None) -> bool:
        # Several threads may see the same token refused; only the first one discards it.
        with self._discard_lock:
            token = self.plugin.auth_ref
            if token is not None and token.auth_token == self._sent.token:
                self.plugin.invalidate()
                self._discarded += 1
        return True

    def _log_in(self) -> AccessInfo:
        try:
            token = self.plugin.get_access(self)
            _ = (token.auth_token, token.project_id, token.expires)  # raises if one is missing
        except error_translation.LIBRARY_ERRORS as exc:
            error = error_translation.translate(exc, self.plugin.auth_url)
            # Keystone repeats the trust id if it does not find the trust.
            text = str(error).replace(self.trust_id, '***') if self.trust_id else str(error)
            raise ApiError(text, error.status, error.retry_after_s) from None
        return token


def page_of(response: requests.Response, key: str, rows: type[T]) -> tuple[T, bool]:
    """Return the rows of a page, and whether another page follows."""
    page = decoder(dict[str, msgspec.Raw]).decode(response.content)
    if key not in page:
        raise ValueError(f'Object missing required field `{key}`')
    links = decoder(list[dict[str, str]]).decode(page.get(f'{key}_links', b'[]'))
    return decoder(rows).decode(page[key]), any(link['rel'] == 'next' for link in links)


class Sessions:
    """The sessions of recently used trusts and of the service user (None); thread-safe.

    No connection is open before the first request, so a process may fork meanwhile.
    """

    def __init__(self, access: Access, retry_policy: RetryPolicy, max_sessions: int) -> None:
        logging.getLogger(_TRUST_LOGGER).addFilter(_is_no_debug)
        self.retry_policy = retry_policy
        self.single_flight = SingleFlight()
        self.connections = http.session()
        self.discovered: dict[str, Any] = {}

        def create(trust_id: str | None) -> Session:
            return Session(trust_id, access, self)

        self._of_trust = functools.lru_cache(max_sessions)(create)
        self._of_service_user = functools.cache(create)
        self._lock = threading.Lock()

    def session_of(self, trust_id: str | None) -> Session:
        with self._lock:  # concurrent checks of a new trust share one session
            return (self._of_trust if trust_id else self._of_service_user)(trust_id)
