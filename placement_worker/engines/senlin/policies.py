"""Versions of Senlin's policy types that only the worker decides for.

The entry points `senlin.policies` register them. A class keeps the name and the VERSION of its base
class, because Senlin stores both with the data of a binding.
"""

from typing import Any

from senlin.common import constraints, consts, schema
from senlin.policies import base, deletion_policy, lb_policy
from senlin.policies import region_placement as regions
from senlin.policies import zone_placement as zones

from placement_worker.engines.senlin.worker_client import is_configured

SUPPORTED = [{'status': consts.SUPPORTED, 'since': '2026.11'}]
MODES = constraints.AllowedValues(['best_effort', 'strict'])
# Placement plans nothing for these actions, but the worker must see the policy: it records the
# failures of deleted nodes for a policy that reacts to shortages, and only then.
DELETIONS = [
    ('BEFORE', name)
    for name in (consts.CLUSTER_DEL_NODES, consts.CLUSTER_REPLACE_NODES, consts.NODE_DELETE)
]
# The properties that version 1.1 adds to both placement policies.
PLACEMENT_PROPERTIES = {
    'spread': schema.Map(
        'How evenly nodes are spread over the places.',
        schema={
            'mode': schema.String(
                'Whether a plan beyond max_skew is carried out with a warning (best_effort) or a '
                'creation fails (strict).',
                default='best_effort',
                constraints=[MODES],
            ),
            'max_skew': schema.Integer(
                'Maximum difference between the nodes of a place and its ideal.', default=1
            ),
        },
    ),
    'on_shortage': schema.Map(
        'Reaction to a lack of capacity in a place.',
        schema={
            'mode': schema.String(
                'Whether nodes go to other places (redistribute) or shortages have no effect '
                '(ignore).',
                default='redistribute',
                constraints=[constraints.AllowedValues(['redistribute', 'ignore'])],
            ),
            'initial_s': schema.Integer(
                'Seconds without new nodes in a place after its first failed attempt.', default=300
            ),
            'max_s': schema.Integer(
                'Maximum number of seconds without new nodes after a failed attempt.', default=3600
            ),
        },
    ),
}


class DecidedByWorker:
    """A policy that fails while senlin.conf names no broker, instead of a decision by Senlin."""

    name: str
    type: str

    def attach(self, cluster: Any, enabled: bool = True) -> tuple[bool, Any]:
        if not is_configured():
            return False, self._reason
        attached: tuple[bool, Any] = super().attach(cluster, enabled)  # type: ignore[misc]
        return attached

    def pre_op(self, cluster_id: str, action: Any) -> None:
        """Fail; Senlin calls it only without a worker."""
        action.data.update(status=base.CHECK_ERROR, reason=self._reason)

    post_op = pre_op

    @property
    def _reason(self) -> str:
        return f'Policy type {self.type} needs a worker: set [placement_worker] transport_url'


class DeletionPolicy(DecidedByWorker, deletion_policy.DeletionPolicy):  # type: ignore[misc]
    VERSIONS = {**deletion_policy.DeletionPolicy.VERSIONS, '1.2': SUPPORTED}
    TARGET = [*deletion_policy.DeletionPolicy.TARGET, ('BEFORE', consts.CLUSTER_REPLACE_NODES)]
    properties_schema = {
        **deletion_policy.DeletionPolicy.properties_schema,
        'protection': schema.String(
            'Whether fewer nodes are deleted (best_effort) or the action fails (strict) if too few '
            'nodes are not protected.',
            default='best_effort',
            constraints=[MODES],
        ),
    }


class LoadBalancingPolicy(DecidedByWorker, lb_policy.LoadBalancingPolicy):  # type: ignore[misc]
    VERSIONS = {**lb_policy.LoadBalancingPolicy.VERSIONS, '1.4': SUPPORTED}
    properties_schema = {
        **lb_policy.LoadBalancingPolicy.properties_schema,
        'min_online': schema.String(
            'Number or percentage of pool members that stay online while nodes leave the pool.',
            default=None,
        ),
    }


class RegionPlacementPolicy(DecidedByWorker, regions.RegionPlacementPolicy):  # type: ignore[misc]
    VERSIONS = {**regions.RegionPlacementPolicy.VERSIONS, '1.1': SUPPORTED}
    TARGET = [*regions.RegionPlacementPolicy.TARGET, *DELETIONS]
    properties_schema = {**regions.RegionPlacementPolicy.properties_schema, **PLACEMENT_PROPERTIES}


class ZonePlacementPolicy(DecidedByWorker, zones.ZonePlacementPolicy):  # type: ignore[misc]
    VERSIONS = {**zones.ZonePlacementPolicy.VERSIONS, '1.1': SUPPORTED}
    TARGET = [*zones.ZonePlacementPolicy.TARGET, *DELETIONS]
    properties_schema = {**zones.ZonePlacementPolicy.properties_schema, **PLACEMENT_PROPERTIES}
