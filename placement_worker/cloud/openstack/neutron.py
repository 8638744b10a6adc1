"""Lookups in Neutron: networks and subnets."""

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from placement_worker.cloud.openstack import responses, services
from placement_worker.cloud.openstack.api_reader import ApiReader
from placement_worker.errors import InvalidInput

T = TypeVar('T')


def network(api: ApiReader, region: str | None, name_or_id: str) -> responses.NetworkRow | None:
    """Return the network with this id or name, or None if the region has no such network.

    :raises InvalidInput: several networks have this name.
    """
    return _find(api, region, 'networks', responses.Networks, name_or_id)


def subnet(api: ApiReader, region: str | None, name_or_id: str) -> responses.SubnetRow | None:
    """Return the subnet with this id or name, or None if the region has no such subnet.

    :raises InvalidInput: several subnets have this name.
    """
    return _find(api, region, 'subnets', responses.Subnets, name_or_id)


def _find(
    api: ApiReader, region: str | None, what: str, kind: type[responses.Rows[T]], name_or_id: str
) -> T | None:
    base = api.endpoint('network', region)
    if base is None:
        return None
    url = (base if base.endswith('/v2.0') else f'{base}/v2.0') + f'/{what}'
    service = services.network(api.region_name(region))
    rows: Sequence[T] = []
    for key in ('id', 'name') if _is_id(name_or_id) else ('name', 'id'):
        rows = rows or api.get(service, url, kind, {key: name_or_id}).rows
    if len(rows) > 1:
        raise InvalidInput(
            f'{len(rows)} {what} have the name `{name_or_id}`{service.where}: '
            'use the id of one of them'
        )
    return rows[0] if rows else None


def _is_id(text: str) -> bool:
    """Return whether a text has the form of an id of Neutron."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
