"""Tests for the check that the cloud has the resources that the properties name."""

import dataclasses

import msgspec
import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import CloudUnavailable, InvalidInput, InvalidSpec
from placement_worker.policies.load_balancing import attachment
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties
from tests.simulated_octavia import Lab


def check(properties, lab=None):
    """Check the resources of these properties in a lab, or in an empty one."""
    attachment.check_named_resources(
        msgspec.convert(properties, LoadBalancingProperties), lab or Lab()
    )


def test_check_names_all_missing_resources():
    """All resources that the cloud lacks are named, with the path of the first."""
    own = {
        'pool': {'subnet': 'x'},
        'vip': {'subnet': 'y', 'network': 'z'},
        'flavor_id': 'f',
        'availability_zone': 'az',
    }
    existing = {
        'pool': {'subnet': 'private-subnet', 'id': 'p'},
        'loadbalancer': 'lb',
        'health_monitor': {'id': 'm'},
    }

    for properties, message in (
        (
            own,
            'The cloud has no pool.subnet `x`, no vip.subnet `y`, no vip.network `z`, '
            'no flavor_id `f`, no availability_zone `az` - at `$.spec.properties.pool.subnet`',
        ),
        (
            existing,
            'The cloud has no loadbalancer `lb`, no pool.id `p`, no health_monitor.id `m` - at '
            '`$.spec.properties.loadbalancer`',
        ),
    ):
        with pytest.raises(InvalidSpec) as refused:
            check(properties)
        assert str(refused.value) == message


def test_check_accepts_names_and_ids():
    """A resource is found by its name or by its id."""
    lab = Lab()
    _, pool = lab.foreign()
    monitor = lab.settled()['healthmonitor'][0]['id']
    own = {
        'pool': {'subnet': 'sub1'},
        'vip': {'subnet': 'private-subnet', 'network': 'net1'},
        'flavor_id': 'small',
        'availability_zone': 'lb-az',
    }
    existing = {
        'pool': {'subnet': 'sub1', 'id': pool},
        'loadbalancer': 'front',
        'health_monitor': {'id': monitor},
    }

    for properties in (own, existing):
        check(properties, lab)
    assert not any(call.writes for call in lab.calls)


def test_check_accepts_ambiguous_names():
    """A name that several resources have counts as present: the owner may see only one of
    them.
    """
    lab = Lab()
    lab.foreign()
    _, pool = lab.foreign()

    def of_several(region, name):
        raise InvalidInput('Several have this name')

    lab.subnet = lab.network = of_several
    own = {'pool': {'subnet': 's'}, 'vip': {'subnet': 's', 'network': 'n'}}
    existing = {'pool': {'subnet': 's', 'id': pool}, 'loadbalancer': 'front'}

    check(existing, lab)
    check(own, lab)
    with pytest.raises(InvalidSpec, match=r'^The cloud has no flavor_id `f` - at `.*\.flavor_id`$'):
        check({**own, 'flavor_id': 'f'}, lab)


def test_check_without_a_response_of_octavia_fails(monkeypatch):
    """The validation fails with the cause if Octavia does not respond."""
    lab = Lab()
    settings = dataclasses.replace(
        attachment._LOOKUP_SETTINGS, sleep=lab.clock.sleep, clock=lab.clock
    )
    monkeypatch.setattr(attachment, '_LOOKUP_SETTINGS', settings)

    def fail(call):
        raise ApiError('http://octavia: connection refused')

    lab.around = fail
    properties = {'pool': {'subnet': 'sub1', 'id': 'p'}, 'loadbalancer': 'lb'}
    with pytest.raises(
        CloudUnavailable, match='Octavia did not respond: http://octavia: connection refused'
    ):
        check(properties, lab)
    assert len(lab.calls) == 3
    assert sum(lab.clock.slept) < 3
