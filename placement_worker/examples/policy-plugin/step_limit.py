"""A policy type that limits how many nodes one action creates or deletes."""

from typing import Annotated

from msgspec import Meta, Struct

from placement_worker.contract.model import CheckRequest
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on, skipped


class StepLimitProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of example.policy.step_limit-1.0."""

    max_step: Annotated[
        int, Meta(ge=1, description='Maximum number of nodes that one action creates or deletes.')
    ] = 10


class StepLimit(Policy[StepLimitProperties]):
    """Reduce the count before placement plans for it."""

    interface = (2, 0)
    name = 'example.policy.step_limit'
    versions = {'1.0': StepLimitProperties}
    priority = 150
    targets = on(BEFORE, 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN')

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Reduce the count that later policies receive."""
        size, most = state.size(request), self.properties.max_step
        if size.count <= most:
            return skipped(f'{size.count} is no more than {most}.')
        decided = state.action_data.change(size.kind).updated(count=most)
        return Outcome(
            'APPLIED',
            f'{most} instead of {size.count} nodes',
            data={**state.data, size.kind: decided},
            details={'asked': size.count},
        )
