"""Write tests/senlin_specs.json: specs of policies, and what Senlin 16 makes of each.

    .tox/senlin/bin/python -m tests.senlin.spec_table senlin-16.0.0

The argument is the unpacked source distribution of Senlin. From it come all example policies and
all specs in its tests; the rows of `VARIANTS` and `PROBES` are added. Senlin has no functional
tests of its own in that distribution. `test_specs.py` asks Senlin again for each row of the file.
"""

import ast
import copy
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from senlin.policies.deletion_policy import DeletionPolicy
from senlin.policies.lb_policy import LoadBalancingPolicy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy

from tests.senlin import specs

TABLE = Path(__file__).parents[1] / 'senlin_specs.json'
POLICIES = {
    'senlin.policy.deletion': DeletionPolicy,
    'senlin.policy.loadbalance': LoadBalancingPolicy,
    'senlin.policy.region_placement': RegionPlacementPolicy,
    'senlin.policy.zone_placement': ZonePlacementPolicy,
}
Json = dict[str, Any]

DELETION, ZONES, REGIONS = specs.deletion(), specs.zones('az1'), specs.regions('R1')
BALANCER = {'pool': {'subnet': 's'}, 'vip': {'subnet': 's'}, 'health_monitor': {}}
LOAD_BALANCING = specs.spec('loadbalance', '1.3', **BALANCER)
# Changes that Senlin's tests make to the first spec of a file: file, path of the property, value.
VARIANTS: list[tuple[str, str, Any]] = [
    *(
        ('test_deletion_policy.py', 'criteria', one)
        for one in ('RANDOM', 'OLDEST_PROFILE_FIRST', 'YOUNGEST_FIRST')
    ),
    ('test_zone_placement.py', 'zones', [{'name': f'AZ{number}'} for number in (1, 2, 3, 4)]),
    ('test_lb_policy.py', 'pool.id', 'POOL_ID'),
    ('test_lb_policy.py', 'health_monitor.id', 'HM_ID'),
    ('test_lb_policy.py', 'loadbalancer', 'LB_ID'),
    ('test_lb_policy.py', 'pool.session_persistence', {}),
    ('test_lb_policy.py', 'vip.connection_limit', -1),
    ('test_lb_policy.py', 'vip', {'address': '192.168.1.100'}),
]

NUMBERS = [
    '1', ' 7 ', '+7', '1_0', 1.0, 1.9, '1.9', 'many', '', None, True, 0, '0', -1, '-1', 10**6,
    10**30, [1], {},
]  # fmt: skip
FLAGS = ['yes', 'NO', 'on', 'off', 't', 'False', '1', 0, 1, 2, 1.0, 'maybe', '', None, []]
TEXTS = ['a', 5, 1.5, True, '', None, ['a'], {'a': 1}]
MAPS = [{}, None, '', '{}', [], {'unheard-of': 1}]
PROBES: list[tuple[Json, str, list[Any]]] = [
    (DELETION, 'criteria', ['OLDEST_FIRST', 'random', 5, None, ['RANDOM']]),
    (DELETION, 'destroy_after_deletion', FLAGS),
    (DELETION, 'reduce_desired_capacity', FLAGS),
    (DELETION, 'grace_period', NUMBERS),
    (
        DELETION,
        'hooks',
        [*MAPS, {'type': 'zaqar', 'params': {'queue': 'q'}}, {'type': 'mail'}, {'timeout': '180'}],
    ),
    (DELETION, 'hooks.params', [*MAPS, {'queue': 5}, {'url': 'http://hook'}]),
    ({**DELETION, 'version': '1.0'}, 'hooks', [{'params': {'queue': 'q'}, 'timeout': '180'}]),
    (DELETION, 'criterion', ['RANDOM']),
    (ZONES, 'zones.0.weight', NUMBERS),
    (ZONES, 'zones.0.name', TEXTS),
    (ZONES, 'zones', [[], None, 'az1', {}, ['az1'], [{}], [{'name': 'az1'}, {'name': 'az1'}]]),
    (REGIONS, 'regions.0.weight', NUMBERS),
    (REGIONS, 'regions.0.cap', NUMBERS),
    (REGIONS, 'regions.0.name', TEXTS),
    (LOAD_BALANCING, 'pool', [*MAPS, {'subnet': 's', 'id': ''}]),
    (LOAD_BALANCING, 'pool.subnet', TEXTS),
    (LOAD_BALANCING, 'pool.protocol', ['HTTPS', 'TCP', 'http', 'UDP', '', None, ['HTTP']]),
    (LOAD_BALANCING, 'pool.protocol_port', [*NUMBERS, '8080', 70000]),
    (LOAD_BALANCING, 'pool.lb_method', ['SOURCE_IP', 'LEAST_CONNECTIONS', 'FASTEST', None]),
    (LOAD_BALANCING, 'pool.admin_state_up', FLAGS),
    (
        LOAD_BALANCING,
        'pool.session_persistence',
        [
            *MAPS,
            *(
                {'type': one, 'cookie_name': 'c'}
                for one in ('SOURCE_IP', 'HTTP_COOKIE', 'APP_COOKIE', 'NONE')
            ),
            {'type': 'APP_COOKIE'},
            {'type': 'APP_COOKIE', 'cookie_name': ''},
            {'cookie_name': 'c'},
            {'type': 'SOURCE_IP', 'cookie_name': 5},
        ],
    ),
    (LOAD_BALANCING, 'vip', MAPS),
    (LOAD_BALANCING, 'vip.network', TEXTS),
    (LOAD_BALANCING, 'vip.address', TEXTS),
    (LOAD_BALANCING, 'vip.connection_limit', [*NUMBERS, -2]),
    (LOAD_BALANCING, 'vip.protocol_port', NUMBERS),
    (
        LOAD_BALANCING,
        'health_monitor',
        [{'type': 'HTTP', 'url_path': 'up'}, {'type': 'HTTP', 'url_path': ''}],
    ),
    (
        LOAD_BALANCING,
        'health_monitor',
        [*MAPS, {'type': 'PING', 'http_method': 'GET', 'expected_codes': 200}],
    ),
    (LOAD_BALANCING, 'health_monitor.type', ['TCP', 'HTTP', 'HTTPS', 'KNOCK', None]),
    (LOAD_BALANCING, 'health_monitor.delay', NUMBERS),
    (LOAD_BALANCING, 'health_monitor.timeout', NUMBERS),
    (LOAD_BALANCING, 'health_monitor.max_retries', [*NUMBERS, 11]),
    (LOAD_BALANCING, 'health_monitor.http_method', ['GET', 'PATCH', 'FETCH', None]),
    (LOAD_BALANCING, 'health_monitor.url_path', ['/', 'up', '', 5, None]),
    (LOAD_BALANCING, 'health_monitor.expected_codes', ['200, 202', 200, '200-204', '', None]),
    (LOAD_BALANCING, 'lb_status_timeout', [*NUMBERS, 86401]),
    (LOAD_BALANCING, 'loadbalancer', TEXTS),
    (LOAD_BALANCING, 'availability_zone', TEXTS),
    *(
        ({**LOAD_BALANCING, 'version': version}, key, [value])
        for key, value in (('flavor_id', 'f'), ('vip', {'network': 'n'}))
        for version in ('1.0', '1.1', '1.2')
    ),
]


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


def rows(source: Path) -> Iterator[Json]:
    """Yield the rows of the table, each spec once."""
    seen = set()
    for origin, spec in [*of_senlin(source), *probes()]:
        key = json.dumps(spec, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield {'origin': origin, 'spec': spec, **answer(spec)}


def of_senlin(source: Path) -> Iterator[tuple[str, Json]]:
    """Yield the specs of this project's types that Senlin's distribution holds, and where."""
    for file in sorted(source.glob('examples/policies/**/*.yaml')):
        spec = yaml.safe_load(file.read_text())
        if spec.get('type') in POLICIES:
            yield str(file.relative_to(source)), spec
    for file in sorted(source.glob('senlin/tests/**/test_*.py')):
        literals = list(_literals(ast.parse(file.read_text())))
        yield from ((f'{file.relative_to(source)}:{line}', spec) for line, spec in literals)
        for name, path, value in VARIANTS:
            if name == file.name and literals:
                line, spec = literals[0]
                yield f'{file.relative_to(source)}:{line}, {path}', changed(spec, path, value)


def _literals(tree: ast.AST) -> Iterator[tuple[int, Json]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            try:
                found = ast.literal_eval(node)
            except ValueError:
                continue
            if str(found.get('type')) in POLICIES and 'version' in found:
                yield node.lineno, found


def probes() -> Iterator[tuple[str, Json]]:
    for spec, path, values in PROBES:
        for value in values:
            origin = f'{spec["type"]}-{spec["version"]}: {path} = {json.dumps(value)}'
            yield origin, changed(spec, path, value)


def changed(spec: Json, path: str, value: Any) -> Json:
    made = copy.deepcopy(spec)
    target: Any = made['properties']
    *steps, last = path.split('.')
    for step in steps:
        target = target[int(step)] if step.isdigit() else target.setdefault(step, {})
    target[last] = value
    return made


def written(table: list[Mapping[str, Any]]) -> str:
    """Return the table as JSON, a row per line."""
    return '[\n' + ',\n'.join(json.dumps(row, sort_keys=True) for row in table) + '\n]\n'


if __name__ == '__main__':
    TABLE.write_text(written(list(rows(Path(sys.argv[1])))))
