"""A policy type that refuses to delete protected nodes."""

from typing import Annotated

from msgspec import Meta, Struct

from placement_worker.contract.model import CheckRequest
from placement_worker.errors import Rejected
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on, skipped


class ProtectProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of my.policy.protect-1.0."""

    key: Annotated[str, Meta(description='Key of the data of protected nodes.')] = 'keep'


class Protect(Policy[ProtectProperties]):
    """Reject an action whose victims include a protected node."""

    interface = (2, 0)
    name = 'my.policy.protect'
    versions = {'1.0': ProtectProperties}
    priority = 450
    after = frozenset({'senlin.policy.deletion'})
    targets = on(BEFORE, 'CLUSTER_SCALE_IN', 'CLUSTER_DEL_NODES', 'CLUSTER_RESIZE')

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Look for protected nodes among the victims of earlier policies, or of the action."""
        named = request.action.candidate_inputs.candidates
        victims = state.action_data.deletion.candidates or named
        if not victims:
            return skipped('No victims are selected yet.')
        nodes = [node for node in request.cluster.nodes if node.id in victims]
        protected = [node.id for node in nodes if state.node_data(node).get(self.properties.key)]
        if protected:
            raise Rejected(f'Protected nodes cannot be deleted: {", ".join(protected)}')
        return Outcome('APPLIED', 'No victim is protected')
