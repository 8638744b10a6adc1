"""Where Senlin's engine branches off to the worker."""

import functools
import logging
from typing import Any

from oslo_config import cfg
from senlin.engine.actions.base import Action
from senlin.policies.deletion_policy import DeletionPolicy
from senlin.policies.lb_policy import LoadBalancingPolicy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy

from placement_worker.engines.senlin import bindings, checks, options
from placement_worker.engines.senlin.worker_client import is_configured

LOG = logging.getLogger(__name__)
POLICIES = (DeletionPolicy, LoadBalancingPolicy, RegionPlacementPolicy, ZonePlacementPolicy)
"""Senlin's classes stay, with name and version: binding data are keyed by them."""


def install() -> None:
    """Put the seam in; a second time is harmless. Senlin's own way is taken while senlin.conf names
    no broker.
    """
    options.register(cfg.CONF)
    if getattr(Action.policy_check, '__wrapped__', None) is None:
        Action.policy_check = _checking(Action.policy_check)
        for policy in POLICIES:
            policy.attach = _attaching(policy.attach)
            policy.detach = _detaching(policy.detach)
    if is_configured():
        LOG.info('placement-worker decides for the policies of %s', ', '.join(sorted(checks.OURS)))
    else:
        LOG.warning(
            '[placement_worker] transport_url is not set in senlin.conf: Senlin decides by itself'
        )


def _checking(of_senlin: Any) -> Any:
    @functools.wraps(of_senlin)
    def policy_check(self: Any, cluster_id: str, target: Any) -> Any:
        if is_configured() and target in ('BEFORE', 'AFTER'):
            return checks.check(self, cluster_id, target)
        return of_senlin(self, cluster_id, target)

    return policy_check


def _attaching(of_senlin: Any) -> Any:
    @functools.wraps(of_senlin)
    def attach(self: Any, cluster: Any, enabled: bool = True) -> Any:
        if is_configured():
            return bindings.attach(self, cluster, enabled=enabled)
        return of_senlin(self, cluster, enabled)

    return attach


def _detaching(of_senlin: Any) -> Any:
    @functools.wraps(of_senlin)
    def detach(self: Any, cluster: Any) -> Any:
        if is_configured():
            return bindings.detach(self, cluster)
        return of_senlin(self, cluster)

    return detach
