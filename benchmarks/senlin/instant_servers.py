"""A cloud in which Nova's servers are ACTIVE as soon as they are created."""

import json
import math
import uuid
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from tests.cloud.whole_cloud import WholeCloud
from tests.integration import seeding
from tests.integration.layout import NOVAS
from tests.integration.proxy import Exchange, Proxy, Response

NOVA = NOVAS['RegionOne']
ZONE = 'OS-EXT-AZ:availability_zone'
ANY_ZONE = 'az1'
JSON = (('Content-Type', 'application/json'),)


class CloudOfInstantServers(WholeCloud):
    """A whole cloud in which Nova of RegionOne runs nothing and keeps no server."""

    def __init__(self) -> None:
        super().__init__()
        self._nova = InstantServers(self.services[NOVA].url)

    @override
    def in_catalog(self) -> Mapping[str, seeding.HasUrl]:
        return {**super().in_catalog(), NOVA: self._nova}

    @override
    def close(self) -> None:
        super().close()
        self._nova.close()


class InstantServers(Proxy):
    """A proxy before Nova that has the servers; it forwards all other requests."""

    request_queue_size = 1000  # every engine connects for each action at the same time

    def __init__(self, nova_url: str) -> None:
        super().__init__(nova_url)
        self._servers: dict[str, dict[str, Any]] = {}
        self.inject(self._create, 'POST', r'/servers$', math.inf)
        self.inject(self._list, 'GET', r'/servers/detail', math.inf)
        self.inject(self._show, 'GET', r'/servers/[^/]+$', math.inf)
        self.inject(self._delete, 'DELETE', r'/servers/[^/]+$', math.inf)

    def _create(self, exchange: Exchange) -> None:
        asked = json.loads(exchange.body)['server']
        server = {
            'id': str(uuid.uuid4()),
            'name': asked['name'],
            'status': 'ACTIVE',
            'metadata': asked['metadata'],
            'addresses': {},
            ZONE: asked.get('availability_zone', ANY_ZONE),
        }
        self._servers[server['id']] = server
        _reply(exchange, 202, server=server)

    def _list(self, exchange: Exchange) -> None:
        _reply(exchange, 200, servers=list(self._servers.values()))

    def _show(self, exchange: Exchange) -> None:
        server = self._servers.get(_id(exchange))
        if server is None:
            _reply(exchange, 404, itemNotFound={'code': 404, 'message': 'No such server'})
        else:
            _reply(exchange, 200, server=server)

    def _delete(self, exchange: Exchange) -> None:
        del self._servers[_id(exchange)]
        exchange.reply(Response(204))


def _id(exchange: Exchange) -> str:
    return exchange.path.rpartition('/')[2]


def _reply(exchange: Exchange, status: int, **body: Any) -> None:
    exchange.reply(Response(status, JSON, json.dumps(body).encode()))
