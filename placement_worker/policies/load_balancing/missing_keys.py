"""Warnings of keys that an engine forgets AFTER an action, so that nodes stay out of the pool."""

from placement_worker.contract import actions
from placement_worker.contract.action_data import CREATION
from placement_worker.contract.model import CheckRequest
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.selection import RECREATED

NO_NODES = (
    'The request has no `action.data.creation.nodes`, so no node is added to the pool: list the '
    'ids of the created nodes there, or an empty list'
)
NO_RECOVERY = (
    'The operation is RECREATE, but the node has no `data.recovery`, so its member in the pool '
    'stays: set it to RECREATE'
)
_ALWAYS_CREATING = (actions.CLUSTER_SCALE_OUT, actions.CLUSTER_ADD_NODES)


def of_creation(request: CheckRequest, state: State) -> list[str]:
    """Return a sentence if an action that has created nodes does not list them."""
    action, creation = request.action, state.data.get(CREATION)
    if creation is None:
        return [NO_NODES] if action.action in _ALWAYS_CREATING else []
    return [] if 'nodes' in creation or creation.get('count') == 0 else [NO_NODES]


def of_recovery(request: CheckRequest) -> list[str]:
    """Return a sentence if a recovered node lacks the sign that its server was created again."""
    action = request.action
    is_recreated = action.inputs.get('operation') == RECREATED
    is_marked = action.node is not None and 'recovery' in action.node.data
    return [NO_RECOVERY] if is_recreated and not is_marked else []
