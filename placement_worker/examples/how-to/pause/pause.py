"""A policy type that rejects deletions while a cluster is paused."""

import reprlib
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidInput, Rejected
from placement_worker.policies.base import BEFORE, Outcome, Policy, State, on, skipped


class PauseProperties(Struct, frozen=True, forbid_unknown_fields=True):
    """Properties of my.policy.pause-1.0."""

    key: Annotated[str, Meta(description='Key of the data of paused clusters.')] = 'paused'


class Pause(Policy[PauseProperties]):
    """Reject actions that delete nodes of a paused cluster."""

    interface = (2, 0)
    name = 'my.policy.pause'
    versions = {'1.0': PauseProperties}
    priority = 100
    inputs = frozenset({'ignore_pause'})
    targets = on(
        BEFORE,
        'CLUSTER_SCALE_IN',
        'CLUSTER_RESIZE',
        'CLUSTER_DEL_NODES',
        'CLUSTER_REPLACE_NODES',
        'NODE_DELETE',
    )

    def check(self, request: CheckRequest, state: State) -> Outcome:
        """Look for the key in the data of the cluster."""
        is_ignored = ignores_pause(request.action.inputs)
        if not request.cluster.data.get(self.properties.key):
            return skipped('The cluster is not paused.')
        if is_ignored:
            return skipped('The action ignores the pause.')
        action = request.action.action
        if action == 'CLUSTER_RESIZE' and state.size(request).kind == 'creation':
            return skipped('The action deletes no nodes.')
        raise Rejected(f'The cluster is paused: {action} would delete nodes')


def ignores_pause(inputs: Mapping[str, Any]) -> bool:
    """Return the input `ignore_pause`, false by default.

    :raises InvalidInput: it is no boolean.
    """
    value = inputs.get('ignore_pause', False)
    if not isinstance(value, bool):
        # reprlib escapes and shortens a value that may have any type and size.
        raise InvalidInput(
            f'Expected a boolean, got `{reprlib.repr(value)}` - at `$.action.inputs.ignore_pause`'
        )
    return value
