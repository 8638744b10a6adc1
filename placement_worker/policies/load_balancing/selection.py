"""Select the nodes whose pool members an action changes."""

from collections.abc import Iterable

from placement_worker.contract import actions
from placement_worker.contract.action_data import DELETION
from placement_worker.contract.model import CheckRequest, Node
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.node_patches import MEMBER

RECREATED = 'RECREATE'
"""The value of `recovery` in the data of a node that has a new server."""


def to_remove(request: CheckRequest, state: State) -> list[str] | None:
    """Return the ids of the nodes that the action removes; None if none are chosen yet."""
    action = request.action
    if action.action == actions.CLUSTER_REPLACE_NODES:
        return list(action.replace_inputs.candidates)
    if action.action == actions.NODE_DELETE and action.node:
        return [action.node.id]
    if action.action == actions.CLUSTER_RESIZE and state.size(request).kind != DELETION:
        return []
    chosen = state.action_data.deletion.candidates
    if chosen is not None:
        return chosen
    named = action.candidate_inputs.candidates
    if named and action.action == actions.CLUSTER_RESIZE and len(named) < state.size(request).count:
        return None
    return [] if named is None and action.action == actions.CLUSTER_DEL_NODES else named


def deleted_count(request: CheckRequest, state: State) -> int:
    """Return the number of nodes that the action removes, if none are chosen yet.

    Protected nodes are not removed.
    """
    size = state.size(request)
    if size.kind != DELETION:
        return 0
    return min(size.count, len(request.cluster.nodes) - len(state.protected(request)))


def to_add(request: CheckRequest, state: State) -> list[str]:
    """Return the ids of the nodes that may be new in the pool."""
    action = request.action
    if action.action in actions.OF_A_NODE and action.node:
        return [action.node.id]
    if action.action == actions.CLUSTER_REPLACE_NODES:
        return list(action.replace_inputs.candidates.values())
    return state.action_data.creation.nodes


def needs_new_member(state: State, node: Node) -> bool:
    """Return whether a recovered node lacks a member or has a new server."""
    data = state.node_data(node)
    return not data.get(MEMBER) or data.get('recovery') == RECREATED


def find(request: CheckRequest, node_ids: Iterable[str]) -> tuple[list[Node], list[str]]:
    """Return the nodes with these ids, and the ids without a node.

    The action's node takes precedence over the same node of the cluster.
    """
    known = {node.id: node for node in request.cluster.nodes}
    if request.action.node is not None:
        known[request.action.node.id] = request.action.node
    wanted = list(node_ids)
    nodes = [known[node_id] for node_id in wanted if node_id in known]
    return nodes, [node_id for node_id in wanted if node_id not in known]
