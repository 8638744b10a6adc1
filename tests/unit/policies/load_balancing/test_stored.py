"""Tests for the stored data of a load balancer."""

import msgspec
import pytest

from placement_worker.contract.model import Binding, BindRequest
from placement_worker.octavia.load_balancers import LoadBalancer
from placement_worker.policies.load_balancing import attachment
from placement_worker.policies.load_balancing.attachment import StoredLoadBalancer
from tests.factories import bind, load_balancing_policy

BALANCER = LoadBalancer('lb1', 'l1', 'p1', None, '10.0.0.9')


def bind_request(**more):
    return msgspec.convert(bind(load_balancing_policy(), **more), BindRequest)


def binding(data):
    return msgspec.convert({**load_balancing_policy(), 'data': data}, Binding)


@pytest.mark.parametrize(
    'data',
    [
        {},
        {attachment.STORED: None},
        {attachment.STORED: {'data': []}},
        {attachment.STORED: {'data': {'loadbalancer': 'lb1'}}},
        {attachment.STORED: {'data': {'loadbalancer': 'lb1', 'pool': 5}}},
    ],
)
def test_of_binding_without_valid_data_returns_none(data):
    """Data without the ids of load balancer and pool count as none."""
    assert StoredLoadBalancer.of(binding(data)) is None


@pytest.mark.parametrize('preexisting', [False, True])
def test_of_binding_reads_what_attaching_stored(preexisting):
    """The stored data are read back."""
    data = attachment.binding_data(bind_request(), BALANCER, preexisting=preexisting)

    assert StoredLoadBalancer.of(binding(data)) == StoredLoadBalancer('lb1', 'p1', preexisting)


def test_cluster_without_vip_reverts_cluster_with_vip():
    """Detaching restores the cluster's data."""
    before = {'other': 1, attachment.IN_CLUSTER: {'pol-2': {'vip_address': None}}}

    attached = attachment.cluster_with_vip(bind_request(data=before), BALANCER.vip_address).data
    detached = attachment.cluster_without_vip(bind_request(data=attached))

    assert attached[attachment.IN_CLUSTER]['pol-loadbalance'] == {'vip_address': '10.0.0.9'}
    assert detached.data == before
    assert attachment.cluster_without_vip(bind_request(data=before)) is None
