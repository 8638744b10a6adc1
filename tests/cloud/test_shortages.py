"""A zone out of capacity in the whole cloud, and the rebalance after its recovery."""

import json
import time
from collections import Counter

import pytest
import yaml

from tests.cloud import computes, programs
from tests.cloud.clusters import Cluster
from tests.cloud.layout import COMPUTES
from tests.cloud.sources import ids, zones

FULL, OTHER = 'az2', 'az3'
HOSTS = [host for host, zone in COMPUTES['RegionOne'].items() if zone == FULL]
# Delays after a failed attempt: one that never ends in a test, and one that always does.
LONG_S, SHORT_S = 3600, 1
# The times of failures and the ends of delays are whole seconds.
ROUNDING_S = 2
pytestmark = pytest.mark.later


def test_full_zone_is_avoided_then_probed_then_refilled(cloud):
    """A full zone gets no node, then one probe at a time, and its share by a rebalance."""
    cluster = Cluster(cloud)
    cluster.attach_deletion()
    patient = attach_zones(cluster, LONG_S)

    with computes.full(cloud.connect('admin'), HOSTS):
        first = cluster.fail('scale_out', count=2)
        avoiding = cluster.change('scale_out', count=3)
        cluster.do('policy_detach', policy_id=patient)
        attach_zones(cluster, SHORT_S)
        wait_for_end_of_delay()
        second = cluster.fail('scale_out', count=2)
    wait_for_end_of_delay()
    probe = cluster.change('scale_out', count=1)
    cleared = cluster.change('scale_in', count=2)
    plan = rebalance_plan(cluster, cleared.action, cloud.folder / 'request.yaml')
    before = cluster.zones()
    for step in plan['steps']:
        carry_out(cluster, step)

    assert zones(first.added) == zones(second.added) == {FULL: 1, OTHER: 1}
    assert zones(avoiding.added) == {OTHER: 3}
    assert zones(probe.added) == {FULL: 1}
    failed = [node for node in first.added + second.added if node.status == 'ERROR']
    assert zones(failed) == {FULL: 2}
    assert all(computes.NO_HOST in node.status_reason for node in failed)
    assert ids(cleared.removed) == ids(failed)
    assert before == {FULL: 1, OTHER: 5}
    assert cluster.zones() == {FULL: 3, OTHER: 3}


def attach_zones(cluster, delay_s):
    """Attach a policy for both zones with a constant delay after failed attempts."""
    places = [{'name': FULL}, {'name': OTHER}]
    delays = {'initial_s': delay_s, 'max_s': delay_s}
    return cluster.attach('zone_placement', '1.1', zones=places, on_shortage=delays)


def wait_for_end_of_delay():
    """Return when the short delay after a failure that has been seen has ended."""
    time.sleep(SHORT_S + ROUNDING_S)


def rebalance_plan(cluster, action, file):
    """Return the plan for the cluster of an action, which the manual takes from a decision log.

    As the manual says, the nodes that the action has deleted are removed from the file, and the
    trust, which the log omits, is added.
    """
    [record] = cluster.records(action)
    logs = cluster.cloud.decision_logs()
    printed = programs.run('placement-policy', 'replay', '--request', record['request_id'], *logs)
    request = yaml.safe_load(printed)
    left = ids(cluster.nodes())
    nodes = request['cluster']['nodes']
    request['cluster']['nodes'] = [node for node in nodes if node['id'] in left]
    request['credentials'] = {'trust_id': cluster.cloud.trust_of('demo')}
    file.write_text(yaml.safe_dump(request))
    workers = ('--transport', cluster.cloud.workers_url)
    plan = programs.run('placement-policy', 'rebalance', *workers, '-f', 'json', file)
    return dict(json.loads(plan))


def carry_out(cluster, step):
    grown = cluster.change('scale_out', count=len(step['create']))
    assert zones(grown.added) == Counter(place['zone'] for place in step['create'])
    victims = [node['id'] for node in step['delete']]
    cluster.do('del_nodes', nodes=victims, destroy_after_deletion=True)
