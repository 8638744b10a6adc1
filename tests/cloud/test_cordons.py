"""A cordoned zone in the whole cloud."""

from contextlib import contextmanager

import pytest

from tests.cloud import programs
from tests.cloud.clusters import Cluster
from tests.cloud.sources import zones

END = '2999-12-01T06:00:00Z'
pytestmark = pytest.mark.later


@contextmanager
def evacuated(cloud, zone):
    """Cordon a zone with evacuation during a block, as an operator does."""
    where = ('--cordon-file', cloud.cordon_file, '--zone', zone)
    programs.run('placement-policy', 'cordon', 'add', *where, '--until', END, '--evacuate')
    try:
        yield
    finally:
        programs.run('placement-policy', 'cordon', 'remove', *where)


def test_evacuated_zone_is_empty_after_three_scale_ins(cloud):
    """Each scale-in deletes a node of the cordoned zone, and a scale-out avoids that zone."""
    cluster = Cluster(cloud)
    cluster.attach_zones(az1=100, az3=100)
    cluster.attach_deletion()
    cluster.attach_load_balancing()
    cluster.change('scale_out', count=6)
    before = cluster.zones()

    with evacuated(cloud, 'az1'):
        shrunk = [cluster.change('scale_in', count=1) for _ in range(3)]
        emptied = cluster.zones()
        grown = cluster.change('scale_out', count=1)

    assert before == {'az1': 3, 'az3': 3}
    assert [zones(change.removed) for change in shrunk] == [{'az1': 1}] * 3
    assert emptied == {'az3': 3}
    assert zones(grown.added) == {'az3': 1}
    for change in (*shrunk, grown):
        for record in cluster.records(change.action):
            assert [cordon['zone'] for cordon in record['cordons']] == ['az1']
