"""The policies and nodes of requests, from Senlin's objects."""

from types import SimpleNamespace

import pytest
from senlin.common import consts
from senlin.objects import node as nodes

from placement_worker.contract.model import NodeMetadata, in_utc
from placement_worker.engines.senlin import requests
from tests.senlin import engine
from tests.senlin.specs import deletion


@pytest.fixture
def policy():
    """Senlin's Policy, as far as requests read it."""
    return SimpleNamespace(id='p1', name='deletion', spec=deletion(criteria='RANDOM'))


def test_policy_binding_has_the_spec_and_the_data_of_the_binding(policy):
    """A request has the policy as Senlin stores it."""
    bound = requests.policy_binding(policy, priority=30, data={'key': 1})

    assert (bound.id, bound.name, bound.enabled) == ('p1', 'deletion', True)
    assert (bound.priority, bound.data) == (30, {'key': 1})
    assert bound.spec.type_name == 'senlin.policy.deletion-1.1'
    assert bound.spec.properties == {'criteria': 'RANDOM'}


def test_policy_binding_without_data_and_properties_has_empty_ones(policy):
    """A policy that is about to be attached has no data, and its properties may all be defaults."""
    policy.spec['properties'] = None

    bound = requests.policy_binding(policy, data=None)

    assert (bound.data, bound.spec.properties) == ({}, {})


def test_policy_binding_is_a_copy(policy):
    """A change of a request changes no object of the engine."""
    data = {'key': 1}

    bound = requests.policy_binding(policy, data=data)
    bound.data['key'] = bound.spec.properties['criteria'] = 'changed'

    assert (data, policy.spec['properties']) == ({'key': 1}, {'criteria': 'RANDOM'})


@pytest.mark.usefixtures('worker')
def test_cluster_has_the_protection_of_its_nodes_without_other_metadata():
    """Of the metadata that users set on a node, a request has the key `protected` alone."""
    cluster = engine.add_cluster('az1', 'az1', 'az1')
    protected, plain, _ = cluster.nodes
    for node, metadata in (protected, {'protected': 'true', 'pw': 'x'}), (plain, {'pw': 'x'}):
        nodes.Node.update(engine.context(), node.id, {'metadata': metadata})

    sent = requests.cluster_of(engine.context(), cluster.id).nodes

    assert [node.metadata for node in sent] == [NodeMetadata('true'), None, None]


@pytest.mark.usefixtures('worker')
def test_cluster_has_the_cause_and_the_time_of_failed_nodes_alone():
    """A node in ERROR has the cause and time of its status; other nodes do without both."""
    cluster = engine.add_cluster('az1', 'az1')
    failed = engine.add_node(cluster, engine.add_profile(), {'zone': 'az1'}, consts.NS_INIT)
    failed.set_status(engine.context(), consts.NS_ERROR, 'No room.')

    sent = requests.cluster_of(engine.context(), cluster.id).nodes

    assert [node.status_reason for node in sent] == [None, None, 'No room.']
    times = [node.updated_at and in_utc(node.updated_at) for node in sent]
    assert times == [None, None, failed.updated_at]
