"""Failures of the worker and of the broker end a check in ERROR, within its timeout."""

import json
from contextlib import contextmanager

import msgspec
import pytest
from oslo_config import cfg
from senlin.common import consts
from senlin.engine.cluster import Cluster

from placement_worker.engines.senlin import requests
from tests.broker import Broker
from tests.freezing import frozen
from tests.senlin import engine
from tests.senlin.specs import deletion, floored, load_balancing, spreading, zones

pytestmark = pytest.mark.usefixtures('worker')
# The timeout of checks without a reply: enough to publish on a loaded machine.
REPLY_S = 10


@contextmanager
def settings(**values):
    for name, value in values.items():
        cfg.CONF.set_override(name, value, 'placement_worker')
    try:
        yield
    finally:
        for name in values:
            cfg.CONF.clear_override(name, 'placement_worker')


def scaled(cluster, phase='BEFORE'):
    return engine.check(cluster, consts.CLUSTER_SCALE_OUT, phase, count=1)


@pytest.fixture
def placed():
    policies = {'zones': zones('az1', 'az2'), 'victims': deletion()}
    return engine.add_cluster('az1', policies=policies)


NO_QUEUE = (
    'There is no queue for topic unused: no worker has served this topic of exchange '
    'placement_worker; start one, or correct the topic or the exchange'
)


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ({'topic': 'unused'}, NO_QUEUE),
        (
            {'transport_url': 'rabbit://guest:secret@127.0.0.1:1/'},
            'No broker responded: 127.0.0.1:1: ',
        ),
        ({'transport_url': 'nonsense://127.0.0.1/'}, 'The transport URL cannot be used: '),
    ],
    ids=['no queue', 'no broker', 'invalid URL'],
)
def test_check_that_cannot_be_sent_ends_in_error_without_the_password(placed, options, reason):
    """A check ends in ERROR at once if senlin.conf leads to no worker."""
    with settings(**options):
        data = scaled(placed)

    assert data['status'] == 'ERROR'
    assert data['reason'].startswith(f"Failed policy 'zones': {reason}")
    assert 'secret' not in data['reason']
    assert 'creation' not in data


def test_check_without_a_reply_in_time_ends_in_error(placed, worker):
    """A check ends in ERROR after its timeout, and later checks succeed again."""
    with settings(timeout_s=REPLY_S), frozen(worker.process.pid, *worker.children()):
        reason = engine.rejection(placed, consts.CLUSTER_SCALE_IN, count=1)

    assert reason == (
        f"Failed policy 'zones', 'victims': No worker replied on topic {worker.topic} within "
        f'{REPLY_S} s: no worker runs, or all threads are occupied'
    )
    assert scaled(placed)['status'] == 'OK'


def test_check_at_a_frozen_broker_ends_in_error(placed, worker):
    """A check ends in ERROR within its timeout if the broker stops responding."""
    broker = Broker().start()
    try:
        with settings(transport_url=broker.url, timeout_s=REPLY_S):
            scaled(placed)  # opens the connection
            with broker.frozen():
                data = scaled(placed)
    finally:
        broker.close()

    assert data['status'] == 'ERROR'
    assert data['reason'].startswith(
        "Failed policy 'zones': The request could not be delivered: the broker is away or silent: "
    )


def test_check_after_an_action_without_a_reply_ends_in_error():
    """A check of the phase AFTER that gets no reply ends in ERROR."""
    cluster = engine.add_cluster('az1', policies={'lb': load_balancing()})
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, action_result='OK')
    action.data['creation'] = {'nodes': [cluster.nodes[0].id]}

    with settings(slow_topic='unused'):
        data = engine.checked(action, 'AFTER')

    assert data['status'] == 'ERROR'
    assert data['reason'].startswith("Failed policy 'lb': There is no queue for topic unused")


def test_attach_without_a_worker_binds_no_policy():
    """A policy is not bound if no worker replies, and the user gets the reason."""
    cluster = engine.add_cluster('az1')

    with settings(slow_topic='unused'):
        reason = engine.refusal(cluster, 'zones', zones('az1'))

    assert reason == f"Failed policy 'zones': {NO_QUEUE}"
    assert Cluster.load(engine.context(), cluster.id).policies == []


def test_detach_without_a_worker_keeps_the_binding(placed):
    """A policy stays bound if no worker replies, and the user gets the reason."""
    policy = placed.policies[0]

    with settings(slow_topic='unused'):
        done, reason = placed.detach_policy(engine.context(), policy.id)

    assert not done
    assert reason.startswith(f"Failed policy '{policy.name}': There is no queue for topic unused")
    assert engine.data_of(placed, policy) == {}


@pytest.mark.parametrize(
    ('spec', 'reason'),
    [
        (
            zones(az1=0),
            "Failed policy 'added': Expected `int` >= 1, got `0` - at "
            '`$.policy.spec.properties.zones[0].weight`',
        ),
        (spreading(zones('az1'), max_skew=-1), 'Expected `int` >= 1, got `-1`'),
        (floored('half'), 'Expected a `min_online` such as `2` or `75%`, up to `100%`, got `half`'),
    ],
    ids=['weight', 'skew', 'floor'],
)
def test_attach_of_an_invalid_spec_reports_the_path(spec, reason):
    """The worker refuses what Senlin's schema cannot check, with its path, and nothing is bound."""
    assert reason in engine.refusal(engine.add_cluster('az1'), 'added', spec)


def test_check_with_an_invalid_spec_reports_the_path(by_itself):
    """A check with an invalid spec ends in ERROR; the reason has the path in the spec."""
    with by_itself():  # Senlin's own schema accepts it
        cluster = engine.add_cluster('az1', policies={'zones': zones(az1=0)})

    assert engine.rejection(cluster, consts.CLUSTER_SCALE_OUT, count=1) == (
        "Failed policy 'zones': Expected `int` >= 1, got `0` - "
        'at `$.policies[0].spec.properties.zones[0].weight`'
    )


def test_attach_to_an_unsupported_profile_type_binds_no_policy():
    """A policy is not bound to a cluster whose profile type it does not support."""
    cluster = engine.add_cluster(profile=engine.add_stack_profile())

    reason = "Failed policy 'zones': Policy not applicable on profile type: os.heat.stack-1.0"
    assert engine.refusal(cluster, 'zones', zones('az1')) == reason


def test_senlin_without_a_broker_of_the_worker_decides_by_itself(placed, by_itself):
    """The plugin changes nothing while senlin.conf names no broker of the worker."""
    action = engine.add_action(placed, consts.CLUSTER_SCALE_OUT, count=1)

    with by_itself():
        action.policy_check(placed.id, 'BEFORE')

    assert action.data['creation'] == {'count': 1, 'zones': {'az2': 1}}
    assert 'placement' not in action.data  # so the engine does not follow the plan


def test_request_has_the_trust_and_no_secrets_of_profiles(placed):
    """A request has the trust of the owner, and neither passwords nor user data of profiles."""
    action = engine.add_action(placed, consts.CLUSTER_SCALE_OUT, count=1)
    request = requests.check_request(action, placed.id, 'BEFORE', [])

    sent = json.loads(msgspec.json.encode(request))

    assert sent['credentials'] == {'trust_id': engine.TRUST}
    assert sent['cluster']['project'] == engine.PROJECT
    assert engine.SERVER['admin_pass'] not in json.dumps(sent)
    assert engine.SERVER['user_data'] not in json.dumps(sent)


def test_check_leaves_the_messaging_options_of_senlin_alone(placed):
    """The options of the worker change neither queues nor exchange of Senlin itself."""
    scaled(placed)

    assert cfg.CONF.oslo_messaging_rabbit.rabbit_quorum_queue is False
    assert cfg.CONF.control_exchange == 'senlin'
