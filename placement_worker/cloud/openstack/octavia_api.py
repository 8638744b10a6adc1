"""Octavia's API through the load-balancer proxy of openstacksdk."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from openstack import exceptions
from openstack.config import cloud_region
from openstack.connection import Connection
from openstack.load_balancer.v2._proxy import Proxy
from typing_extensions import override

from placement_worker.cloud.openstack import error_translation
from placement_worker.cloud.openstack.sessions import Session
from placement_worker.cloud.ports import (
    ApiError,
    ObjectKind,
    Octavia,
    Resource,
    collection,
    in_octavia,
)
from placement_worker.errors import ServiceFailed, ServiceRefused

_UNAUTHORIZED = 401
_STATUS = 'provisioning_status'
# Kinds whose name in the methods of openstacksdk differs from the name in the API.
_SDK_NAMES: dict[ObjectKind, str] = {
    'loadbalancer': 'load_balancer',
    'healthmonitor': 'health_monitor',
}
_STATELESS = ('flavor', 'availability_zone')


class OctaviaApi(Octavia):
    def __init__(
        self, session: Session, region: str | None, interfaces: Sequence[str], url: str
    ) -> None:
        self._session = session
        self._region = region
        self._interfaces = list(interfaces)
        self._url = url  # for error messages

    @override
    def find(self, kind: ObjectKind, **filters: Any) -> list[Resource]:
        # The listings of openstacksdk drop filters that they do not know, such as loadbalancer_id
        # of a listener, and would return objects of other load balancers.
        path, key = collection(kind), f'{kind}s'
        listed: list[Resource] = []
        params = filters
        with self._proxy('GET', path) as proxy:
            while True:
                response = proxy.get(f'/lbaas/{path}', params=params)
                exceptions.raise_from_response(response)
                page = response.json()
                listed += page[key]
                links = page.get(f'{key}_links', ())
                if not page[key] or not any(link['rel'] == 'next' for link in links):
                    return listed
                params = {**filters, 'marker': page[key][-1]['id']}

    @override
    def show(self, kind: ObjectKind, object_id: str) -> Resource:
        with self._proxy('GET', collection(kind, object_id)) as proxy:
            resource = getattr(proxy, f'get_{_SDK_NAMES.get(kind, kind)}')(object_id)
            return _plain(resource, 'name' if kind in _STATELESS else _STATUS)

    @override
    def create(self, kind: ObjectKind, body: Resource) -> Resource:
        with self._proxy('POST', collection(kind)) as proxy:
            return _plain(getattr(proxy, f'create_{_SDK_NAMES.get(kind, kind)}')(**body))

    @override
    def delete(self, kind: ObjectKind, object_id: str, *, cascade: bool = False) -> None:
        options = {'cascade': cascade} if kind == 'loadbalancer' else {}
        with self._proxy('DELETE', collection(kind, object_id)) as proxy:
            getattr(proxy, f'delete_{_SDK_NAMES.get(kind, kind)}')(
                object_id, ignore_missing=False, **options
            )

    @override
    def members(self, pool_id: str) -> list[Resource]:
        with self._proxy('GET', f'pools/{pool_id}/members') as proxy:
            return [_plain(member) for member in proxy.members(pool_id)]

    @override
    def create_member(self, pool_id: str, member: Resource) -> Resource:
        with self._proxy('POST', f'pools/{pool_id}/members') as proxy:
            return _plain(proxy.create_member(pool_id, **member))

    @override
    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        params = {'additive_only': 'true'} if additive_only else {}
        path = f'pools/{pool_id}/members'
        with self._proxy('PUT', path) as proxy:
            response = proxy.put(f'/lbaas/{path}', params=params, json={'members': list(members)})
            exceptions.raise_from_response(response)

    @override
    def delete_member(self, pool_id: str, member_id: str) -> None:
        with self._proxy('DELETE', f'pools/{pool_id}/members/{member_id}') as proxy:
            proxy.delete_member(member_id, pool_id, ignore_missing=False)

    @contextmanager
    def _proxy(self, method: str, path: str) -> Iterator[Proxy]:
        try:
            self._session.log_in()  # openstacksdk would report a failure as one of Octavia
            yield self._connected()
        except ServiceFailed as exc:
            # Keystone issued no token, so Octavia received no request. A status of Keystone must
            # not look like a status of Octavia.
            status = _UNAUTHORIZED if isinstance(exc, ServiceRefused) else None
            raise ApiError(str(exc), status) from exc
        except (*error_translation.LIBRARY_ERRORS, exceptions.SDKException) as exc:
            error = error_translation.translate(exc, self._url)
            message = in_octavia(method, path, error)
            raise ApiError(message, error.status, error.retry_after_s) from exc

    def _connected(self) -> Proxy:
        proxy = self._session.load_balancers.get(self._region)
        if proxy is None:
            region = cloud_region.from_session(
                self._session,
                region_name=self._region,
                interface=self._interfaces,
                app_name='placement-worker',
            )
            proxy = Connection(config=region).load_balancer
            self._session.load_balancers[self._region] = proxy
        return proxy


def _plain(resource: Any, key: str = _STATUS) -> Resource:
    """Return the object as the API shows it; each object of its kind has the key.

    openstacksdk treats a response that is not JSON as one without a body.
    """
    plain: Resource = resource.to_dict(original_names=True, computed=False, headers=False)
    if not plain.get(key):
        raise ValueError(f'no object with a {key}')
    return plain
