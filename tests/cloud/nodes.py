"""Nodes of clusters in Senlin's database, and their changes."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Node:
    """A node in Senlin's database."""

    id: str
    physical_id: str
    status: str
    status_reason: str
    data: Json

    @property
    def region(self) -> str:
        """The region of the server, where the plugin has recorded one."""
        return str(self.data.get('server_region', 'RegionOne'))

    @property
    def placement(self) -> Json:
        return dict(self.data.get('placement') or {})


@dataclass(frozen=True)
class Change:
    """An action that has ended, and the nodes that it added and removed."""

    action: Json
    added: list[Node]
    removed: list[Node]


def ids(nodes: list[Node]) -> set[str]:
    """Return the ids of nodes."""
    return {node.id for node in nodes}


def zones(nodes: list[Node]) -> Counter[str]:
    """Return how many of the nodes are in each zone."""
    return Counter(node.placement['zone'] for node in nodes)
