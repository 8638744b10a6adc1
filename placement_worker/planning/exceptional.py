"""The nodes that a planner may treat in another way than the rest."""

from collections.abc import Iterable

from placement_worker.contract.model import Node
from placement_worker.planning.protection import KEY as PROTECTED

ACTIVE = 'ACTIVE'


def exceptional(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes that may be unhealthy, never created or protected.

    Few nodes are, so one pass over all nodes spares several others.
    """
    # This takes 60 ns per node; iterators of C (`map` and `attrgetter`) take 60 ns per attribute.
    return [
        node
        for node in nodes
        if node.status != ACTIVE
        or node.tainted
        or node.created_at is None
        or node.metadata is not None
        or PROTECTED in node.data
    ]
