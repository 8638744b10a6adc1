"""Tests for the access to the pool of an attached policy."""

import datetime

import msgspec
import pytest

from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract.action_data import ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import NotAttached
from placement_worker.policies.base import State
from placement_worker.policies.load_balancing.attachment import PoolAccess, updater_for
from placement_worker.policies.load_balancing.properties import (
    STATUS_TIMEOUT_S,
    LoadBalancingProperties,
    Pool,
    Vip,
)
from tests.factories import connected, load_balancing_policy, request
from tests.unit.policies.load_balancing.building_blocks import stored

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
PROPERTIES = LoadBalancingProperties(Pool('s'), Vip('s'), lb_status_timeout=7)


def asked(policy):
    return msgspec.convert(request('CLUSTER_SCALE_IN', [policy], [connected(1)]), CheckRequest)


def state(lab, check):
    snapshot = Snapshot(lab, check.cluster)
    return State(ActionData({}), snapshot, 10, NOW, binding=check.policies[0])


def test_access_to_an_attached_policy_has_its_pool_tags_and_time_limit(lab):
    """The pool is that of the binding's data; tags name cluster and policy."""
    check = asked(load_balancing_policy(data=stored('1.4', loadbalancer='lb', pool='p')))

    access = PoolAccess.of(PROPERTIES, check, state(lab, check))

    pool = access.pool('subnet')
    assert (pool.lb_id, pool.pool_id, pool.subnet_id) == ('lb', 'p', 'subnet')
    assert pool.tags == [
        'placement-worker:cluster=c1', 'placement-worker:policy=pol-loadbalance',
    ]  # fmt: skip
    assert pool.nodes == {'n1'}
    assert access.updater.budget.seconds == 7


def test_access_to_a_policy_without_stored_data_is_refused(lab):
    """A binding that was never attached has no pool."""
    check = asked(load_balancing_policy())

    with pytest.raises(NotAttached, match=r'^The binding holds no load balancer: attach'):
        PoolAccess.of(PROPERTIES, check, state(lab, check))


def test_updater_without_valid_properties_has_the_default_time_limit(lab):
    """A spec that is not valid does not prevent an update."""
    check = asked(load_balancing_policy())

    updater = updater_for(None, state(lab, check), check.cluster, 'seed')

    assert updater.budget.seconds == STATUS_TIMEOUT_S
