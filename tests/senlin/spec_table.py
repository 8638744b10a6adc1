"""Specs of policies, and what Senlin 16 makes of each: tests/senlin_specs.json.

The specs are those of Senlin's example policies and tests, variants of them, and unusual values of
each property. After a change of the specs in the file, this asks Senlin for all of them again::

    .tox/senlin/bin/python -m tests.senlin.spec_table
"""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from senlin.policies.deletion_policy import DeletionPolicy
from senlin.policies.lb_policy import LoadBalancingPolicy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy

TABLE = Path(__file__).parents[1] / 'senlin_specs.json'
POLICIES = {
    'senlin.policy.deletion': DeletionPolicy,
    'senlin.policy.loadbalance': LoadBalancingPolicy,
    'senlin.policy.region_placement': RegionPlacementPolicy,
    'senlin.policy.zone_placement': ZonePlacementPolicy,
}
Json = dict[str, Any]


class Everything:
    """A cloud that has whatever a spec names."""

    def validate_azs(self, names: list[str]) -> list[str]:
        return names

    validate_regions = validate_azs

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def answer(spec: Json) -> Json:
    """Return `properties` as Senlin resolves them, else `error` with the class of the exception."""
    try:
        policy = POLICIES[spec['type']]('policy', copy.deepcopy(spec))
        policy.nova = policy.keystone = policy.network = policy.octavia = lambda *_: Everything()
        policy.validate(SimpleNamespace(user_id='u', project_id='p'), validate_props=True)
        return {'properties': json.loads(json.dumps(dict(policy.properties)))}
    except Exception as exc:  # a response with 400, or with 500 if Senlin has not thought of it
        return {'error': f'{type(exc).__name__}: {exc}'}


def written(table: list[Mapping[str, Any]]) -> str:
    """Return the table as JSON, a row per line."""
    return '[\n' + ',\n'.join(json.dumps(row, sort_keys=True) for row in table) + '\n]\n'


if __name__ == '__main__':
    asked = [
        {name: row[name] for name in ('origin', 'spec')} for row in json.loads(TABLE.read_text())
    ]
    TABLE.write_text(written([{**row, **answer(row['spec'])} for row in asked]))
