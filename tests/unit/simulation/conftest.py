"""Scenarios for tests."""

import json

import pytest

from placement_worker.simulation import greedy, scenario_files
from placement_worker.simulation.history import History, Moment
from placement_worker.simulation.measures import Standing
from placement_worker.simulation.run import Record, play
from placement_worker.simulation.steps import Check
from tests.factories import deletion_policy, region_policy, zone_policy

ZONES = {'zones': {'a': True, 'b': True, 'c': True}}
REGIONS = {'regions': {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': True}}}}


def played(scenario, registry, *, compared=True, explained=1000):
    """Play a scenario, and return its history."""
    history = History(explained)
    worker = play(scenario, registry, explained)
    other = (
        play(scenario, greedy.registry(registry), explained) if compared else iter(lambda: None, 0)
    )
    for pair in zip(worker, other, strict=False):
        history.add(Moment(*pair))
    return history


@pytest.fixture
def load(tmp_path):
    """Return a function that writes a scenario to a file and loads it."""

    def loaded(steps, policies=None, **more):
        file = tmp_path / 'scenario.json'
        policies = [zone_policy('a', 'b', 'c'), deletion_policy()] if policies is None else policies
        scenario = {'title': 'Test', 'cloud': ZONES, 'policies': policies, 'steps': steps, **more}
        file.write_text(json.dumps(scenario))
        return scenario_files.load(str(file))

    return loaded


@pytest.fixture
def run(load, registry):
    """Return a function that plays steps and returns the records after the start."""

    def played(steps, policies=None, explained=0, **more):
        return list(play(load(steps, policies, **more), registry, explained))[1:]

    return played


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
    deletion = deletion_policy()
    deletion['spec']['properties']['grace_period'] = 30
    return {
        'cloud': cloud,
        'policies': [zone_policy('a', 'b', 'c'), deletion, {'id': 'lb', 'spec': spec}],
    }


@pytest.fixture
def over_regions():
    """Return the fields of a scenario over two regions, without its steps."""
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy()]
    return {'cloud': REGIONS, 'policies': policies}


def record(number, **more):
    """Return the record of a step."""
    checks = [Check('CLUSTER_SCALE_OUT', 'BEFORE', 'OK', 'fine', 2, 1, 0, 0, [])] if number else []
    fields = {
        'number': number,
        'what': 'x',
        'note': '',
        'checks': checks,
        'status': 'OK' if number else '',
        'changes_world': False,
        'as_expected': True,
        'standings': [Standing('a', number, float(number), True)],
        'size': number,
        'failed': 0,
        'protected': 0,
        'misplaced': 0.0,
        'skew': 0.0,
        'outages': [],
        'cordons': [],
        'pools': [],
        'updates': 0,
        'grace_period_s': 0,
    }
    return Record(**{**fields, **more})


def held(record):
    """Return the number of nodes of each place."""
    return {one.name: one.nodes for one in record.standings}


def ideals(record):
    return {
        one.name: None if one.ideal is None else round(one.ideal, 3) for one in record.standings
    }
