"""The region of a node's server.

Senlin connects to the region of the profile, or to its default region, whatever the placement of a
node says. With these methods of its profiles it connects to the planned region. Nodes that were
created without them have their servers in Senlin's region, so each node keeps its own.
"""

import functools
from collections.abc import Mapping
from typing import Any

from senlin.common.context import get_admin_context
from senlin.objects import node as nodes

from placement_worker.engines.senlin.worker_client import is_configured

SERVER_REGION = 'server_region'
"""The key of a node's `data` for the region in which its server was created."""


def creating(original: Any) -> Any:
    """Wrap the method that creates the server of a node: it keeps the planned region.

    The region is stored before the server exists: a failed creation may leave a server behind.
    """

    @functools.wraps(original)
    def do_create(self: Any, obj: Any) -> Any:
        region = (obj.data.get('placement') or {}).get('region_name')
        if is_configured() and region:
            obj.data[SERVER_REGION] = region
            nodes.Node.update(get_admin_context(), obj.id, {'data': obj.data})
        return original(self, obj)

    return do_create


def connecting(original: Any) -> Any:
    """Wrap a method that connects to a service: it connects to the region of the node."""

    @functools.wraps(original)
    def connect(self: Any, obj: Any) -> Any:
        region = _region(obj)
        if region is None:
            return original(self, obj)
        senlins_own = self.context
        self.context = {**senlins_own, 'region_name': region}
        try:
            return original(self, obj)
        finally:
            self.context = senlins_own

    return connect


def _region(obj: Any) -> str | None:
    """Return the region of a node's server, or None without one; clusters have none."""
    data = getattr(obj, 'data', None)
    return data.get(SERVER_REGION) if isinstance(data, Mapping) else None
