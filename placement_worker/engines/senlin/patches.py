"""The patch points: the methods of Senlin's engine that the plugin replaces."""

import functools
import logging
from typing import Any

from oslo_config import cfg
from senlin.drivers.os.nova_v2 import NovaClient
from senlin.engine.actions.base import Action
from senlin.engine.actions.node_action import NodeAction
from senlin.policies.deletion_policy import DeletionPolicy
from senlin.policies.lb_policy import LoadBalancingPolicy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy
from senlin.profiles.base import Profile
from senlin.profiles.os.nova.server import ServerProfile

from placement_worker.engines.senlin import (
    bindings,
    checks,
    options,
    recoveries,
    regions,
    server_faults,
)
from placement_worker.engines.senlin.worker_client import is_configured

LOG = logging.getLogger(__name__)
POLICIES = (DeletionPolicy, LoadBalancingPolicy, RegionPlacementPolicy, ZonePlacementPolicy)
"""The patched policy classes keep name and version, which are keys of the binding data."""

SERVICES = ('compute', 'network', 'glance', 'block_storage')
"""The methods with which profiles connect to the services that a server needs."""


def install() -> None:
    """Patch Senlin's methods once; repeated calls have no effect.

    The patched methods call Senlin's own while senlin.conf names no broker.
    """
    options.register(cfg.CONF)
    if getattr(Action.policy_check, '__wrapped__', None) is None:
        Action.policy_check = _patched_check(Action.policy_check)
        for policy in POLICIES:
            policy.attach = _patched_attach(policy.attach)
            policy.detach = _patched_detach(policy.detach)
        NovaClient.wait_for_server = server_faults.patched_wait(NovaClient.wait_for_server)
        NodeAction.do_recover = recoveries.recovering(NodeAction.do_recover)
        ServerProfile.do_create = regions.creating(ServerProfile.do_create)
        for service in SERVICES:
            setattr(Profile, service, regions.connecting(getattr(Profile, service)))
    if is_configured():
        LOG.info(
            'placement-worker decides for the policies of %s',
            ', '.join(sorted(checks.WORKER_TYPES)),
        )
    else:
        LOG.warning(
            '[placement_worker] transport_url is not set in senlin.conf: Senlin decides by itself'
        )


def _patched_check(original: Any) -> Any:
    @functools.wraps(original)
    def policy_check(self: Any, cluster_id: str, target: Any) -> Any:
        if is_configured() and target in ('BEFORE', 'AFTER'):
            return checks.check(self, cluster_id, target)
        return original(self, cluster_id, target)

    return policy_check


def _patched_attach(original: Any) -> Any:
    @functools.wraps(original)
    def attach(self: Any, cluster: Any, enabled: bool = True) -> Any:
        if is_configured():
            return bindings.attach(self, cluster, enabled=enabled)
        return original(self, cluster, enabled)

    return attach


def _patched_detach(original: Any) -> Any:
    @functools.wraps(original)
    def detach(self: Any, cluster: Any) -> Any:
        if is_configured():
            return bindings.detach(self, cluster)
        return original(self, cluster)

    return detach
