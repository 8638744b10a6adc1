"""Scenarios for tests."""

import json

import pytest

from placement_worker.simulation.engine import PlayedCheck
from placement_worker.simulation.history import History
from placement_worker.simulation.measures import Standing
from placement_worker.simulation.run import StepRecord, play, played_steps
from tests.factories import deletion_policy, region_policy, zone_policy
from tests.scenarios import load_scenario

ZONES = {'zones': {'a': True, 'b': True, 'c': True}}
REGIONS = {'regions': {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': True}}}}


def played(scenario, registry, *, compared=True, explained=1000):
    """Play a scenario, or the shipped scenario of that name, and return its history."""
    scenario = load_scenario(scenario) if isinstance(scenario, str) else scenario
    history = History(explained)
    for step in played_steps(scenario, registry, explained=explained, compared=compared):
        history.add(step)
    return history


@pytest.fixture
def load(tmp_path):
    """Return a function that writes a scenario to a file and loads it."""

    def loaded(steps, policies=None, **more):
        file = tmp_path / 'scenario.json'
        policies = [zone_policy('a', 'b', 'c'), deletion_policy()] if policies is None else policies
        scenario = {'title': 'Test', 'cloud': ZONES, 'policies': policies, 'steps': steps, **more}
        file.write_text(json.dumps(scenario))
        return load_scenario(str(file))

    return loaded


@pytest.fixture
def run(load, registry):
    """Return a function that plays steps and returns the records after the start."""

    def records(steps, policies=None, explained=0, **more):
        return list(play(load(steps, policies, **more), registry, explained=explained))[1:]

    return records


@pytest.fixture
def balanced():
    """Return the fields of a scenario with a load balancer, without its steps."""
    properties = {'pool': {'subnet': 'sub'}, 'vip': {'subnet': 'sub'}}
    spec = {'type': 'senlin.policy.loadbalance', 'version': '1.3', 'properties': properties}
    cloud = {
        **ZONES,
        'networks': {'net': {'id': 'net1'}},
        'subnets': {'sub': {'id': 'sub1', 'network': 'net'}},
    }
    deletion = deletion_policy(grace_period=30)
    policies = [zone_policy('a', 'b', 'c'), deletion, {'id': 'lb', 'spec': spec}]
    return {'cloud': cloud, 'policies': policies}


@pytest.fixture
def over_regions():
    """Return the fields of a scenario over two regions, without its steps."""
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy()]
    return {'cloud': REGIONS, 'policies': policies}


def record(number, **more):
    check = PlayedCheck('CLUSTER_SCALE_OUT', 'BEFORE', 'OK', 'fine', 2, 1, 0, 0, [])
    fields = {
        'number': number,
        'what': 'x',
        'note': '',
        'checks': [check] if number else [],
        'status': 'OK' if number else '',
        'changes_world': False,
        'as_expected': True,
        'standings': [Standing('a', number, float(number), True)],
        'size': number,
        **dict.fromkeys(('failed', 'protected', 'updates', 'grace_period_s'), 0),
        **dict.fromkeys(('misplaced', 'skew'), 0.0),
        **dict.fromkeys(('outages', 'cordons', 'pools'), ()),
    }
    return StepRecord(**{**fields, **more})


def ideals(record):
    return {
        place.name: None if place.ideal is None else round(place.ideal, 3)
        for place in record.standings
    }
