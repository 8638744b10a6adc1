"""What becomes of a check that no worker answers or that one refuses: an ERROR that says so, within
the time set.
"""

import json
import os
import signal
from contextlib import contextmanager

import msgspec
import pytest
from oslo_config import cfg
from senlin.common import consts
from senlin.objects import cluster as clusters

from placement_worker.engines.senlin import requests
from tests.broker import Broker
from tests.senlin import engine
from tests.senlin.specs import deletion, load_balancing, zones

pytestmark = pytest.mark.usefixtures('worker')


@contextmanager
def settings(**values):
    """[placement_worker] of senlin.conf with other values."""
    for name, value in values.items():
        cfg.CONF.set_override(name, value, 'placement_worker')
    try:
        yield
    finally:
        for name in values:
            cfg.CONF.clear_override(name, 'placement_worker')


@contextmanager
def stopped(*processes):
    """Processes that hold their connections, and do nothing."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def scaled(cluster, phase='BEFORE'):
    return engine.check(cluster, consts.CLUSTER_SCALE_OUT, phase, count=1)


@pytest.fixture
def placed():
    """A cluster with two policies of ours."""
    cluster = engine.add_cluster('az1')
    engine.bound(cluster, ('zones', zones('az1', 'az2')), ('victims', deletion()))
    return cluster


def test_a_check_ends_in_error_where_no_worker_has_ever_run(placed):
    with settings(topic='nobody'):
        data = scaled(placed)

    assert data['status'] == 'ERROR'
    assert data['reason'] == (
        "Failed policy 'zones': There is no queue for topic nobody: placement-worker has never run on this broker"
    )
    assert 'creation' not in data


def test_a_check_ends_in_error_where_there_is_no_broker(placed):
    with settings(transport_url='rabbit://guest:secret@127.0.0.1:1/'):
        data = scaled(placed)

    assert data['status'] == 'ERROR'
    assert data['reason'].startswith("Failed policy 'zones': No broker answered: 127.0.0.1:1: ")
    assert 'secret' not in data['reason']


def test_a_check_ends_in_error_where_the_transport_url_is_none(placed):
    with settings(transport_url='nonsense://127.0.0.1/'):
        data = scaled(placed)

    assert data['status'] == 'ERROR'
    assert data['reason'].startswith("Failed policy 'zones': The transport URL cannot be used: ")


def test_a_check_ends_in_error_where_workers_do_not_answer_in_time(placed, worker):
    with settings(timeout_s=2), stopped(worker.process.pid, *worker.children()):
        data = engine.check(placed, consts.CLUSTER_SCALE_IN, count=1)

    assert data['status'] == 'ERROR'
    assert data['reason'] == (
        f"Failed policy 'zones', 'victims': No worker answered on topic {worker.topic} within 2 s: "
        'is placement-worker running?'
    )
    assert scaled(placed)['status'] == 'OK'


def test_a_check_ends_in_error_where_the_broker_does_not_respond(placed, worker):
    broker = Broker().start()
    try:
        with settings(transport_url=broker.url, timeout_s=2):
            scaled(placed)  # the connection stands
            with stopped(int((broker.folder / 'pid').read_text())):
                data = scaled(placed)
    finally:
        broker.close()

    assert data['status'] == 'ERROR'
    assert (
        data['reason']
        == "Failed policy 'zones': No worker answered within 2 s: the broker does not respond"
    )


def test_after_an_action_that_is_not_answered_the_check_ends_in_error_too():
    cluster = engine.add_cluster('az1')
    engine.bound(cluster, ('lb', load_balancing()))
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, action_result='OK')
    action.data['creation'] = {'nodes': [cluster.nodes[0].id]}

    with settings(slow_topic='nobody'):
        data = engine.checked(action, 'AFTER')

    assert data['status'] == 'ERROR'
    assert data['reason'].startswith("Failed policy 'lb': There is no queue for topic nobody")


def test_a_policy_is_not_attached_where_no_worker_answers():
    cluster = engine.add_cluster('az1')

    with settings(slow_topic='nobody'):
        _, done, reason = engine.attach(cluster, 'zones', zones('az1'))

    assert not done
    assert reason == (
        "Failed policy 'zones': There is no queue for topic nobody: placement-worker has never run on this broker"
    )
    assert clusters.Cluster.get(engine.context(), cluster.id).id
    assert [policy.name for policy in cluster.policies] == []


def test_a_policy_is_not_detached_where_no_worker_answers(placed):
    policy = placed.policies[0]

    with settings(slow_topic='nobody'):
        done, reason = placed.detach_policy(engine.context(), policy.id)

    assert not done
    assert reason.startswith(f"Failed policy '{policy.name}': There is no queue for topic nobody")
    assert engine.data_of(placed, policy) == {}


def test_a_spec_that_the_worker_refuses_is_not_attached_and_the_reason_says_where():
    cluster = engine.add_cluster('az1')

    _, done, reason = engine.attach(cluster, 'zones', zones(az1=0))

    assert not done
    assert reason == (
        "Failed policy 'zones': Expected `int` >= 1, got `0` - at `$.policy.spec.properties.zones[0].weight`"
    )


def test_a_spec_that_the_worker_refuses_fails_the_check_and_the_reason_says_where(by_itself):
    cluster = engine.add_cluster('az1')
    with by_itself():  # Senlin's own schema lets it pass
        engine.bound(cluster, ('zones', zones(az1=0)))

    data = scaled(cluster)

    assert data['status'] == 'ERROR'
    assert data['reason'] == (
        "Failed policy 'zones': Expected `int` >= 1, got `0` - at `$.policies[0].spec.properties.zones[0].weight`"
    )


def test_a_policy_is_not_attached_to_a_profile_type_that_it_does_not_support():
    cluster = engine.add_cluster(profile=engine.add_stack_profile())

    _, done, reason = engine.attach(cluster, 'zones', zones('az1'))

    assert not done
    assert (
        reason == "Failed policy 'zones': Policy not applicable on profile type: os.heat.stack-1.0"
    )


def test_senlin_decides_by_itself_as_long_as_its_configuration_names_no_broker(placed, by_itself):
    action = engine.add_action(placed, consts.CLUSTER_SCALE_OUT, count=1)

    with by_itself():
        action.policy_check(placed.id, 'BEFORE')

    assert action.data['creation'] == {'count': 1, 'zones': {'az2': 1}}
    assert 'placement' not in action.data  # without which the engine loses the plan


def test_the_trust_travels_and_secrets_of_profiles_do_not(placed):
    action = engine.add_action(placed, consts.CLUSTER_SCALE_OUT, count=1)
    request = requests.check_request(action, placed.id, 'BEFORE', [])

    sent = json.loads(msgspec.json.encode(request))

    assert sent['credentials'] == {'trust_id': engine.TRUST}
    assert sent['cluster']['project'] == engine.PROJECT
    assert engine.SERVER['admin_pass'] not in json.dumps(sent)
    assert engine.SERVER['user_data'] not in json.dumps(sent)


def test_senlins_own_queues_are_not_made_as_ours(placed):
    scaled(placed)

    assert cfg.CONF.oslo_messaging_rabbit.rabbit_quorum_queue is False
    assert cfg.CONF.control_exchange == 'senlin'
