"""Octavia's API through openstacksdk's load-balancer proxy: plain data in and out, one request a
call, no retry.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from openstack import exceptions
from openstack.config import cloud_region
from openstack.connection import Connection
from openstack.load_balancer.v2._proxy import Proxy

from placement_worker.cloud.openstack import error_translation
from placement_worker.cloud.openstack.sessions import Session
from placement_worker.cloud.ports import ApiError, Kind, Resource
from placement_worker.errors import ServiceFailed, ServiceRefused

UNAUTHORIZED = 401
STATUS = 'provisioning_status'
_IN_SDK: dict[Kind, str] = {'loadbalancer': 'load_balancer', 'healthmonitor': 'health_monitor'}
"""Names of kinds in openstacksdk's methods, where they are not the API's own."""


_STATELESS = ('flavor', 'availability_zone')


class OctaviaApi:
    """As `Octavia`."""

    def __init__(
        self, session: Session, region: str | None, interfaces: Sequence[str], url: str
    ) -> None:
        """Call nobody yet.

        :param url: of Octavia in the catalog, for errors.
        """
        self._session = session
        self._region = region
        self._interfaces = list(interfaces)
        self._url = url

    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        """As `Octavia.find`.

        Not by openstacksdk's own listings: they leave out a filter that they do not know, such as a
        listener's loadbalancer_id, and would find what belongs to others.
        """
        path = f'{kind.replace("_", "")}s'
        key = f'{kind}s'
        found: list[Resource] = []
        params = filters
        with self._proxy() as proxy:
            while True:
                page = _answered(proxy.get(f'/lbaas/{path}', params=params))
                found += page[key]
                if not page[key] or not any(
                    link['rel'] == 'next' for link in page.get(f'{key}_links', ())
                ):
                    return found
                params = {**filters, 'marker': page[key][-1]['id']}

    def show(self, kind: Kind, object_id: str) -> Resource:
        """As `Octavia.show`."""
        with self._proxy() as proxy:
            shown = getattr(proxy, f'get_{_IN_SDK.get(kind, kind)}')(object_id)
            return _plain(shown, 'name' if kind in _STATELESS else STATUS)

    def create(self, kind: Kind, body: Resource) -> Resource:
        """As `Octavia.create`."""
        with self._proxy() as proxy:
            return _plain(getattr(proxy, f'create_{_IN_SDK.get(kind, kind)}')(**body))

    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        """As `Octavia.delete`."""
        options = {'cascade': cascade} if kind == 'loadbalancer' else {}
        with self._proxy() as proxy:
            getattr(proxy, f'delete_{_IN_SDK.get(kind, kind)}')(
                object_id, ignore_missing=False, **options
            )

    def members(self, pool_id: str) -> list[Resource]:
        """As `Octavia.members`."""
        with self._proxy() as proxy:
            return [_plain(member) for member in proxy.members(pool_id)]

    def create_member(self, pool_id: str, member: Resource) -> Resource:
        """As `Octavia.create_member`."""
        with self._proxy() as proxy:
            return _plain(proxy.create_member(pool_id, **member))

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """As `Octavia.update_members`."""
        params = {'additive_only': 'true'} if additive_only else {}
        with self._proxy() as proxy:
            answer = proxy.put(
                f'/lbaas/pools/{pool_id}/members', params=params, json={'members': list(members)}
            )
            exceptions.raise_from_response(answer)

    def delete_member(self, pool_id: str, member_id: str) -> None:
        """As `Octavia.delete_member`."""
        with self._proxy() as proxy:
            proxy.delete_member(member_id, pool_id, ignore_missing=False)

    @contextmanager
    def _proxy(self) -> Iterator[Proxy]:
        """The SDK's proxy; whatever goes wrong with it is an ApiError."""
        try:
            yield self._connected()
        except ServiceFailed as exc:
            # Without a token nothing was asked, so a status of Keystone's must not look like one of
            # Octavia's.
            raise ApiError(
                str(exc), UNAUTHORIZED if isinstance(exc, ServiceRefused) else None
            ) from exc
        except (*error_translation.LIBRARY_ERRORS, exceptions.SDKException) as exc:
            raise error_translation.translate(exc, self._url) from exc

    def _connected(self) -> Proxy:
        """The proxy; made once for a session and region."""
        made = self._session.load_balancers.get(self._region)
        if made is None:
            region = cloud_region.from_session(
                self._session,
                region_name=self._region,
                interface=self._interfaces,
                app_name='placement-worker',
            )
            made = self._session.load_balancers[self._region] = Connection(
                config=region
            ).load_balancer
        return made


def _answered(answer: Any) -> Any:
    exceptions.raise_from_response(answer)
    return answer.json()


def _plain(resource: Any, key: str = STATUS) -> Resource:
    """The object as the API shows it.

    :param key: what every object of its kind has.
    :raises ValueError: openstacksdk takes an answer that is no JSON for one without a body.
    """
    shown: Resource = resource.to_dict(original_names=True, computed=False, headers=False)
    if not shown.get(key):
        raise ValueError(f'no object with a {key}')
    return shown
