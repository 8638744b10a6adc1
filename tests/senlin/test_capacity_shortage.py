"""A zone without room, in the words that Senlin stores."""

import pytest
from senlin.common import consts
from senlin.engine.cluster import Cluster
from senlin.engine.node import Node
from senlin.objects import node as nodes

from tests.senlin import cloud, engine
from tests.senlin.specs import spreading, zones

FAULT = {'code': 500, 'message': 'No valid host was found. There are not enough hosts available.'}


@pytest.fixture
def full(monkeypatch):
    """Return a function that lets each new server in a zone fail."""
    return lambda zone: monkeypatch.setitem(cloud.FULL, zone, FAULT)


@pytest.fixture
def cluster(worker):
    """A cluster whose zones are placed by version 1.1."""
    return engine.add_cluster('az1', 'az2', policies={'zones': spreading(zones('az1', 'az2'))})


def failed_node(cluster):
    """Return a node that the engine fails to create in az1."""
    node = engine.add_node(cluster, engine.add_profile(), {'zone': 'az1'}, consts.NS_INIT)
    done, _ = node.do_create(engine.context())
    assert not done
    return engine.node_of(node.id)


def test_failed_node_has_the_fault_of_its_server(cluster, full):
    """Senlin stores why Nova could not create the server, though it deletes the server."""
    full('az1')

    node = failed_node(cluster)

    assert (node.status, node.created_at) == ('ERROR', None)
    assert node.status_reason == (
        f'Failed in creating server: Server:{node.physical_id} transitioned to failure state '
        'ERROR: No valid host was found. There are not enough hosts available.'
    )


@pytest.mark.parametrize(
    'action', [consts.CLUSTER_DEL_NODES, consts.CLUSTER_REPLACE_NODES, consts.NODE_DELETE]
)
def test_scale_out_after_the_deletion_of_a_failed_node_goes_to_the_other_zone(
    cluster, full, action
):
    """Senlin stores the record of the failure, also if only a placement policy is bound."""
    full('az1')
    failed = failed_node(cluster)
    target = Node.load(engine.context(), failed.id) if action == consts.NODE_DELETE else cluster
    named = {failed.id: 'new'} if action == consts.CLUSTER_REPLACE_NODES else [failed.id]
    candidates = {} if action == consts.NODE_DELETE else {'candidates': named}

    deleted = engine.check(target, action, **candidates)
    nodes.Node.delete(engine.context(), failed.id)
    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=2)

    assert (deleted['status'], data['creation']['zones']) == ('OK', {'az2': 2})
    (record,) = Cluster.load(engine.context(), cluster.id).data['placement_failures']
    assert (record['zone'], record['attempts']) == ('az1', 1)


def test_failed_node_without_a_worker_has_the_reason_of_senlin(cluster, full, by_itself):
    """The plugin changes nothing while senlin.conf names no broker of the worker."""
    full('az1')

    with by_itself():
        node = failed_node(cluster)

    assert node.status_reason.endswith('transitioned to failure state ERROR.')


@pytest.mark.parametrize('fault', [None, {}, {'message': ''}, 'broken'])
def test_failed_server_without_a_fault_keeps_the_reason_of_senlin(
    cluster, full, monkeypatch, fault
):
    """A server without a readable fault fails with the error of openstacksdk."""

    def get_server(*_):
        if fault == 'broken':
            raise RuntimeError('Nova does not respond')
        return cloud.Server(status='ERROR', fault=fault)

    full('az1')
    monkeypatch.setattr(cloud.FailingServers, 'get_server', get_server)

    assert failed_node(cluster).status_reason.endswith('transitioned to failure state ERROR.')
