"""The patches of nodes whose members change: data, and the status after a failure or its repair."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from placement_worker.contract.model import Node, NodePatch
from placement_worker.policies.base import State

MEMBER = 'lb_member'
"""The key of a node's data that holds the id of its member."""
REPAIRED = 'Succeeded in adding node into lb pool.'
"""The reason of the status of a node whose failure is repaired."""

_WARNING, _UNHEALTHY = 'WARNING', ('WARNING', 'ERROR')


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A change of a node.

    :ivar outdated: the keys to drop from its data.
    :ivar member_id: the id of its new member.
    :ivar failure: the message for its status, if it has failed.
    :ivar repaired: the message of an earlier failure that its member ends.
    """

    outdated: Sequence[str] = ()
    member_id: str | None = None
    failure: str | None = None
    repaired: str | None = None


def patches(
    state: State, nodes: Sequence[Node], changes: Mapping[str, NodeChange]
) -> dict[str, NodePatch]:
    """Return the patches of nodes that differ from the state, by node id.

    :param changes: by node id, for all nodes.
    """
    found: dict[str, NodePatch] = {}
    for node, before in [(node, state.node_data(node)) for node in nodes]:
        change = changes[node.id]
        after = {key: value for key, value in before.items() if key not in change.outdated}
        if change.member_id:
            after[MEMBER] = change.member_id
        if change.failure is not None:
            found[node.id] = NodePatch(after, *_status(node, change.failure))
        elif change.repaired and (node.status, node.status_reason) == (_WARNING, change.repaired):
            found[node.id] = NodePatch(after, 'ACTIVE', REPAIRED)
        elif after != before:
            found[node.id] = NodePatch(after)
    return found


def _status(node: Node, message: str) -> tuple[str, str]:
    """Return the status and reason of a failed node; an unhealthy one keeps its earlier reason."""
    if node.status not in _UNHEALTHY:
        return _WARNING, message
    before = node.status_reason or message
    return node.status, before if message in before else f'{before.rstrip(". ")}. {message}'
