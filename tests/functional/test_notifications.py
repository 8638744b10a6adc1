"""Notifications of workers on a real RabbitMQ: outages delay them, and lose none."""

import contextlib
import itertools
import json
import time
from contextlib import closing

import pytest
from amqp.exceptions import InternalError, NotFound

from tests.cluster import Cluster
from tests.factories import request, zone_policy
from tests.functional.conftest import amqp
from tests.functional.engine import repeat
from tests.waiting import DEADLINE_S, wait_for

DRIVER = '[oslo_messaging_notifications]\ndriver = messagingv2\ntopics = {}\n'


class Audit:
    """The durable queue of a consumer that reads the notifications of a worker."""

    def __init__(self, url, topic):
        self.url, self.queue = url, f'{topic}.info'
        self.taken = []

    def ends(self):
        """Return the ids of the checks whose end has been notified, one for each time."""
        # A queue that is being declared is not found, or has no process on the broker yet.
        not_declared = contextlib.suppress(NotFound, InternalError)
        with not_declared, amqp(self.url) as connection:
            channel = connection.default_channel
            for message in iter(lambda: channel.basic_get(self.queue, no_ack=True), None):
                content = json.loads(json.loads(message.body)['oslo.message'])
                if content['event_type'] == 'policy_check.end':
                    self.taken.append(content['payload']['action']['id'])
        return self.taken


def check(client, name):
    client.policy_check(request('CLUSTER_SCALE_OUT', [zone_policy('a')], id=name))


@pytest.fixture
def audited(start_worker):
    """Start a worker with notifications; return it and their consumer."""

    def start(url, name, read_url=None, **options):
        topic = f'audit-{name}'
        worker = start_worker(DRIVER.format(topic), url=url, **options)
        return worker, Audit(read_url or url, topic)

    return start


def test_notifications_during_an_alarm_of_the_broker_arrive_after_it(audited, own_broker):
    """A broker that blocks publishers delays notifications, and delays no check by them."""
    worker, audit = audited(own_broker.url, 'alarm')
    with closing(worker.client()) as client:
        check(client, 'before')
        wait_for(lambda: audit.ends() == ['before'])
        with own_broker.memory_alarm():
            time.sleep(1)
        check(client, 'after')
        wait_for(lambda: audit.ends() == ['before', 'after'])


def test_notifications_after_lost_connections_arrive_on_new_ones(audited, own_broker):
    """A connection that the broker closed loses no notification."""
    worker, audit = audited(own_broker.url, 'lost')
    with closing(worker.client()) as client:
        check(client, 'before')
        own_broker.control('close_all_connections', 'test')
        check(client, 'after')
        wait_for(lambda: set(audit.ends()) == {'before', 'after'})


def test_worker_that_stops_sends_the_notifications_of_its_last_check(audited, broker_url):
    """The queue of notifications is empty before the process ends."""
    worker, audit = audited(broker_url, 'stop')
    with closing(worker.client()) as client:
        check(client, 'last')
    worker.stop()

    assert audit.ends() == ['last']


@pytest.mark.long
def test_cluster_with_each_node_killed_in_turn_loses_no_notification(audited):
    """Three nodes that are killed in turn under load delay notifications, and lose none."""
    with closing(Cluster()) as cluster:
        cluster.start()
        worker, audit = audited(cluster.url, 'cluster', workers=2, threads=4)
        sent, numbers = [], itertools.count()

        def load():
            name = f'check-{next(numbers)}'
            check(client, name)
            sent.append(name)

        with closing(worker.client()) as client:
            check(client, 'first')
            for node in cluster.nodes:
                node.flush()  # the queues of the worker
            stops = [repeat(load, every_s=0) for _ in range(3)]
            for node in cluster.nodes:
                time.sleep(2)
                node.kill()
                time.sleep(3)
                node.start()
                cluster.await_all()
            for stop in stops:
                stop()
        audit.url = cluster.nodes[0].url
        wait_for(lambda: set(sent) <= set(audit.ends()), DEADLINE_S)
        print(f'{2 * len(sent)} notifications, {len(audit.taken) - len(sent)} ends twice')
