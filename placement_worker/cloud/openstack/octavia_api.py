"""Octavia's API, whose requests and responses reach the caller as the API defines them."""

from collections.abc import Callable, Sequence
from typing import Any

from requests import Response
from typing_extensions import override

from placement_worker.cloud.openstack import error_translation
from placement_worker.cloud.openstack.sessions import Session, page_of
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
_STATELESS = ('flavor', 'availability_zone')


class OctaviaApi(Octavia):
    def __init__(self, session: Session, endpoint: str) -> None:
        self._session = session
        # As openstacksdk, without a discovery of versions, which older releases of Octavia lack.
        self._url = f'{endpoint.removesuffix("/v2.0")}/v2.0/lbaas'

    @override
    def find(self, kind: ObjectKind, **filters: Any) -> list[Resource]:
        return self._list(collection(kind), f'{kind}s', filters)

    @override
    def show(self, kind: ObjectKind, object_id: str) -> Resource:
        required = 'name' if kind in _STATELESS else _STATUS
        return self._object('GET', collection(kind, object_id), kind, required)

    @override
    def create(self, kind: ObjectKind, body: Resource) -> Resource:
        return self._object('POST', collection(kind), kind, json={kind: body})

    @override
    def delete(self, kind: ObjectKind, object_id: str, *, cascade: bool = False) -> None:
        params = {'cascade': True} if cascade else {}
        self._send('DELETE', collection(kind, object_id), params=params)

    @override
    def members(self, pool_id: str) -> list[Resource]:
        return self._list(f'pools/{pool_id}/members', 'members', {}, _STATUS)

    @override
    def create_member(self, pool_id: str, member: Resource) -> Resource:
        path = f'pools/{pool_id}/members'
        return self._object('POST', path, 'member', json={'member': member})

    @override
    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        params = {'additive_only': 'true'} if additive_only else {}
        path = f'pools/{pool_id}/members'
        self._send('PUT', path, params=params, json={'members': list(members)})

    @override
    def delete_member(self, pool_id: str, member_id: str) -> None:
        self._send('DELETE', f'pools/{pool_id}/members/{member_id}')

    def _object(
        self, method: str, path: str, key: str, required: str = _STATUS, **request: Any
    ) -> Resource:
        """Return the object of a response; each object of its kind has the required key."""

        def read(response: Response) -> Resource:
            return _checked(response.json()[key], required)

        resource: Resource = self._send(method, path, read, **request)
        return resource

    def _list(
        self, path: str, key: str, filters: Resource, required: str | None = None
    ) -> list[Resource]:
        listed: list[Resource] = []
        params: Resource | None = filters

        def read(response: Response) -> Resource | None:
            rows, has_more = page_of(response, key, list[Resource])
            listed.extend(_checked(row, required) for row in rows)
            return {**filters, 'marker': rows[-1]['id']} if rows and has_more else None

        while params is not None:
            params = self._send('GET', path, read, params=params)
        return listed

    def _send(
        self, method: str, path: str, read: Callable[[Response], Any] = bool, **request: Any
    ) -> Any:
        try:
            self._session.log_in()  # keystoneauth would report a failure as one of Octavia
            return read(self._session.request(f'{self._url}/{path}', method, **request))
        except ServiceFailed as exc:
            # Keystone issued no token, so Octavia received no request. A status of Keystone must
            # not look like a status of Octavia.
            status = _UNAUTHORIZED if isinstance(exc, ServiceRefused) else None
            raise ApiError(str(exc), status) from exc
        except error_translation.LIBRARY_ERRORS as exc:
            error = error_translation.translate(exc, self._url)
            message = in_octavia(method, path, error)
            raise ApiError(message, error.status, error.retry_after_s) from exc


def _checked(resource: Resource, required: str | None) -> Resource:
    if required and not resource.get(required):
        raise ValueError(f'no object with a {required}')
    return resource
