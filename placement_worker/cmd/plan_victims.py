"""The nodes that an action would delete, for `placement-policy plan`."""

from collections.abc import Sequence

from placement_worker.contract import actions
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.decisions import victim_choosers


def ids(request: CheckRequest, reply: CheckReply) -> Sequence[str]:
    """Return the ids of the nodes to delete, in the order of deletion.

    :raises InvalidInput: the inputs of the action are malformed.
    """
    chosen = victim_choosers.candidates(reply.action.data)
    if chosen is None and request.action.action == actions.CLUSTER_DEL_NODES:
        chosen = request.action.candidate_inputs.candidates
    return chosen or ()
