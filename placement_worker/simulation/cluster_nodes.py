"""The nodes of the simulated cluster."""

import datetime
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import structs

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import Node, NodeMetadata, NodePatch
from placement_worker.planning import protection
from placement_worker.planning.exceptional import exceptional
from placement_worker.simulation.addresses import Addresses
from placement_worker.simulation.scenario import START

FAILED = 'ERROR'
NO_ROOM = 'No valid host was found. There are not enough hosts available.'


class ClusterNodes:
    """The nodes of a cluster, by id.

    :ivar by_id: the nodes in the order of their creation.
    """

    def __init__(
        self, cluster_name: str, inventory: Inventory, start: datetime.datetime = START
    ) -> None:
        """Start without nodes.

        :param start: the time at which the profile was created.
        """
        self.by_id: dict[str, Node] = {}
        self._cluster_name = cluster_name
        self._addresses = Addresses(inventory)
        self._start = start
        self._serial = 0

    @property
    def failed(self) -> list[str]:
        """The ids of the failed nodes."""
        return [node.id for node in self.by_id.values() if node.status == FAILED]

    def protected(self, now: datetime.datetime) -> Collection[str]:
        """Return the ids of the nodes that are protected."""
        return protection.in_force(exceptional(self.by_id.values()), {}, now)

    def create(
        self,
        placement: Mapping[str, str],
        now: datetime.datetime,
        *,
        has_room: bool,
        data: Mapping[str, Any] = MappingProxyType({}),
    ) -> Node:
        """Create a node; without room for it in the cloud, it is in ERROR and has no server.

        :param data: the data of the node besides its place.
        """
        self._serial += 1
        node = Node(
            id=f'n{self._serial}',
            name=f'{self._cluster_name}-{self._serial}',
            index=self._serial,
            profile_created_at=self._start,
            data={**data, **({'placement': dict(placement)} if placement else {})},
            updated_at=now,
        )
        if has_room:
            addresses = self._addresses.take()
            node = structs.replace(node, status='ACTIVE', created_at=now, details=addresses)
        else:
            node = structs.replace(node, status=FAILED, status_reason=NO_ROOM)
        self.by_id[node.id] = node
        return node

    def delete(self, node_ids: Iterable[str]) -> None:
        """Delete nodes, and release their addresses."""
        for node_id in node_ids:
            self._addresses.give_back(self.by_id.pop(node_id).details)

    def fail(self, node_ids: Iterable[str]) -> None:
        """Put nodes in ERROR."""
        for node_id in node_ids:
            self.by_id[node_id] = structs.replace(self.by_id[node_id], status=FAILED)

    def protect(self, node_ids: Iterable[str], metadata: NodeMetadata) -> None:
        """Protect nodes from deletion."""
        for node_id in node_ids:
            self.by_id[node_id] = structs.replace(self.by_id[node_id], metadata=metadata)

    def patch(self, patches: Mapping[str, NodePatch]) -> None:
        """Store the data of nodes."""
        for node_id, patch in patches.items():
            self.by_id[node_id] = structs.replace(self.by_id[node_id], data=patch.data)
