"""Strict and best-effort spread: the versions 1.1 of both placement policies in Senlin."""

import pytest
from senlin.common import consts, exception
from senlin.policies.base import Policy

from tests.senlin import engine
from tests.senlin.specs import regions, zones


def spreading(spec, **spread):
    properties = {**spec['properties'], 'spread': spread}
    return {**spec, 'version': '1.1', 'properties': properties}


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


def test_malformed_skew_is_refused_when_the_policy_is_attached(worker):
    """The worker refuses a skew that Senlin's schema cannot bound, and nothing is bound."""
    cluster = engine.add_cluster('az1')

    _, done, reason = engine.attach(cluster, 'spread', spreading(zones('az1'), max_skew=-1))

    assert not done
    assert 'Expected `int` >= 1, got `-1`' in reason
