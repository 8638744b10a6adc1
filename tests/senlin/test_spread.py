"""Strict and best-effort spread: the versions 1.1 of both placement policies in Senlin."""

import pytest
from senlin.common import consts, exception
from senlin.engine import environment
from senlin.policies.base import Policy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy

from tests.senlin import engine
from tests.senlin.specs import regions, zones

TYPE = 'senlin.policy.zone_placement-1.1'
ADDED = [
    (TYPE, ZonePlacementPolicy),
    ('senlin.policy.region_placement-1.1', RegionPlacementPolicy),
]


def spreading(spec, **spread):
    """Return a spec in version 1.1."""
    properties = {**spec['properties'], 'spread': spread}
    return {**spec, 'version': '1.1', 'properties': properties}


@pytest.mark.parametrize(('name', 'original'), ADDED)
def test_added_type_keeps_the_names_that_senlin_stores(senlin_here, name, original):
    """Class name and VERSION, which the data of bindings contain, are those of Senlin's class; its
    actions come before the named deletions.
    """
    added = environment.global_env().get_policy(name)

    assert added is not original
    assert (added.__name__, added.VERSION) == (original.__name__, original.VERSION)
    assert added.VERSIONS['1.1'] == [{'status': 'SUPPORTED', 'since': '2026.11'}]
    deletions = [consts.CLUSTER_DEL_NODES, consts.CLUSTER_REPLACE_NODES, consts.NODE_DELETE]
    named = [('BEFORE', action) for action in deletions]
    assert original.TARGET + named == added.TARGET


@pytest.mark.parametrize('spec', [zones('az1'), regions('RegionOne')])
def test_spec_with_a_spread_is_valid_in_version_1_1_alone(senlin_here, spec):
    """Senlin accepts both modes, a skew as a string, and no other mode or version."""
    for spread in ({}, {'mode': 'strict'}, {'mode': 'best_effort', 'max_skew': '2'}):
        Policy('spread', spreading(spec, **spread)).validate(engine.context())
    for refused in (
        spreading(spec, mode='loose'),
        spreading(spec, max_skew='many'),
        spreading(spec, skew=2),
        {**spreading(spec, mode='strict'), 'version': '1.0'},
    ):
        with pytest.raises(exception.ESchema):
            Policy('spread', refused).validate(engine.context())


@pytest.mark.parametrize(
    ('spec', 'reason'),
    [
        (
            zones('az1', 'down'),
            'Zone az1 would hold 4 nodes, ideal 2.0, allowed skew 1: zone down is unavailable',
        ),
        (
            regions('RegionOne', 'Nowhere'),
            'Region RegionOne would hold 3 nodes, ideal 1.5, allowed skew 1: '
            'region Nowhere is unknown to the cloud',
        ),
    ],
    ids=['zones', 'regions'],
)
def test_strict_spread_fails_the_action_with_its_reason(worker, spec, reason):
    """The refusal of the worker becomes the reason of Senlin's action."""
    cluster = engine.add_cluster('az1')
    engine.bound(cluster, ('spread', spreading(spec, mode='strict')))

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=3)

    assert (data['status'], data['reason']) == ('ERROR', f"Failed policy 'spread': {reason}")
    assert 'placement' not in data


def test_best_effort_spread_carries_out_the_plan_and_logs_a_warning(worker, caplog):
    """Senlin's log has the warning, and the nodes go to the zone that is left."""
    cluster = engine.add_cluster('az1')
    engine.bound(cluster, ('spread', spreading(zones('az1', 'down'))))

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=3)

    assert data['creation'] == {'count': 3, 'zones': {'az1': 3}}
    assert 'Zone az1 would hold 4 nodes, ideal 2.0, allowed skew 1: ' in caplog.text


def test_strict_spread_does_not_fail_a_deletion(worker):
    """A cluster with all nodes in one zone can shrink."""
    cluster = engine.add_cluster('az1', 'az1', 'az1', 'az1')
    engine.bound(cluster, ('spread', spreading(zones('az1', 'down'), mode='strict')))

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=1)

    assert (data['status'], data['deletion']) == ('OK', {'count': 1, 'zones': {'az1': 1}})


def test_malformed_skew_is_refused_when_the_policy_is_attached(worker):
    """The worker refuses a skew that Senlin's schema cannot bound, and nothing is bound."""
    cluster = engine.add_cluster('az1')

    _, done, reason = engine.attach(cluster, 'spread', spreading(zones('az1'), max_skew=-1))

    assert not done
    assert 'Expected `int` >= 1, got `-1`' in reason


def test_added_type_without_a_worker_fails(worker, by_itself):
    """Senlin alone would tolerate every skew, so it fails for the added type."""
    cluster = engine.add_cluster('az1')
    engine.bound(cluster, ('spread', spreading(zones('az1'))))

    with by_itself():
        data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=1)

    assert data['reason'] == (
        f"Failed policy 'spread': Policy type {TYPE} needs a worker: set [placement_worker] "
        'transport_url'
    )
