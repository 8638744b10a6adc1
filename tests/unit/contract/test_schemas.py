"""The JSON Schemas of the contract's messages, against the code and against what workers send."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator, FormatChecker

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import types
from placement_worker.contract.model import BindReply, BindRequest, CheckReply, CheckRequest
from placement_worker.contract.rpc import METHODS
from placement_worker.errors import InvalidSpec, error_object
from placement_worker.handlers.service import Endpoints
from placement_worker.messaging import notifications
from tests.factories import bind, deletion_policy, node, nodes, rebalance, request, zone_policy

ROOT = Path(__file__).parents[3]
CLOUD = Inventory.parse({'zones': {'a': True}}, 'test')
PAYLOADS = {
    'policy_check': request('CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy()], nodes(a=2)),
    'policy_attach': bind(zone_policy('a')),
    'policy_detach': bind(zone_policy('a')),
    'policy_rebalance': rebalance([zone_policy('a')], nodes(a=2, b=1)),
    'policy_validate': {'spec': zone_policy('a')['spec']},
    'policy_type_list': {},
    'policy_type_get': {'type_name': 'senlin.policy.deletion-1.1'},
    'get_capabilities': {},
}


def validator(name):
    return Draft202012Validator(
        json.loads(types.message_schema(name)), format_checker=FormatChecker()
    )


def problems(name, message):
    return [f'{one.json_path}: {one.message}' for one in validator(name).iter_errors(message)]


def decided(method, registry):
    """Return a request and the reply of a worker to it, as plain data."""
    reply = getattr(Endpoints(CLOUD, registry), method)(json.dumps(PAYLOADS[method]))
    return PAYLOADS[method], json.loads(reply)


def test_shipped_schemas_are_the_generated_ones(tmp_path):
    """`python tools/schemas.py` brings the shipped files up to date."""
    subprocess.run([sys.executable, 'tools/schemas.py', tmp_path], cwd=ROOT, check=True)

    generated = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert {name: types.message_schema(name) for name in types.message_names()} == generated


@pytest.mark.parametrize('name', types.message_names())
def test_schema_is_valid_and_describes_every_key(name):
    """Each schema is valid, has an id of its own, and describes all objects and their keys."""
    document = json.loads(types.message_schema(name))

    Draft202012Validator.check_schema(document)
    assert document['$schema'] == 'https://json-schema.org/draft/2020-12/schema'
    assert document['$id'] == f'urn:placement-worker:1.1:{name}'
    undescribed = [one for one, of in document.get('$defs', {}).items() if not of['description']]
    undescribed += [
        f'{one}.{key}'
        for one, of in document.get('$defs', {}).items()
        for key, value in of['properties'].items()
        if not value.get('description')
    ]
    assert undescribed == []
    assert r'\Z' not in types.message_schema(name)


@pytest.mark.parametrize('method', [method.name for method in METHODS])
def test_request_and_reply_of_each_method_fit_their_schemas(method, registry):
    """The requests that a worker accepts, and its replies, fit the schemas."""
    asked, reply = decided(method, registry)

    assert problems(f'{method}.request', asked) == []
    assert problems(f'{method}.reply', reply) == []


@pytest.mark.parametrize('method', ['policy_check', 'policy_attach', 'policy_detach'])
def test_payload_of_each_notification_fits_its_schema(method, registry):
    """Each notification has exactly the keys that its schema requires."""
    is_check = method == 'policy_check'
    kinds = (CheckRequest, CheckReply) if is_check else (BindRequest, BindReply)
    asked, reply = (
        msgspec.convert(one, kind)
        for one, kind in zip(decided(method, registry), kinds, strict=True)
    )

    for event, payload in {
        'start': notifications.started(asked, 'req-1'),
        'end': notifications.ended(asked, reply, None),
        'error': notifications.failed(InvalidSpec('x'), None),
    }.items():
        assert problems(f'{method}.{event}', payload) == []
        for key in payload:
            without = {name: value for name, value in payload.items() if name != key}
            assert problems(f'{method}.{event}', without) != [] or key == 'warnings'


def test_reply_to_a_cast_is_a_reply_or_an_error(registry):
    """The schema of a cast's reply allows the reply of a call, or an error, and nothing else."""
    _, reply = decided('policy_check', registry)

    assert problems('policy_check.cast_reply', reply) == []
    assert problems('policy_check.cast_reply', error_object(InvalidSpec('x'))) == []
    assert problems('policy_check.cast_reply', {'error': {'type': 'X'}}) != []


@pytest.mark.parametrize(
    ('change', 'path'),
    [
        ({}, None),
        ({'headers': {'parked-id': '0123456789ab'}}, ('headers',)),
        ({'body': {'oslo.version': '1.0', 'oslo.message': '{}'}}, ('body', 'oslo.version')),
        ({'body': {'oslo.version': '2.0', 'oslo.message': {}}}, ('body', 'oslo.message')),
    ],
)
def test_schema_of_a_parked_request_names_headers_and_envelope(change, path):
    """A message without the headers of the worker, or in another envelope, does not fit."""
    headers = {
        'parked-id': '0123456789ab',
        'parked-at': '2026-11-22T14:00:00+00:00',
        'parked-from': 'placement-worker',
    }
    body = {'oslo.version': '2.0', 'oslo.message': '{}'}

    found = validator('parked_request').iter_errors({'headers': headers, 'body': body, **change})

    assert {tuple(one.absolute_path) for one in found} == ({path} if path else set())


@pytest.mark.parametrize(
    ('action', 'more'),
    [
        ('CLUSTER_SCALE_IN', {'inputs': {'count': -1}}),
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 'two'}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'count': -1}}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'candidates': ['n1', 'n1']}}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'zones': {'a': -1}}}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'region': {'a': -1}}}}),
        ('CLUSTER_SCALE_IN', {'data': {'deletion': {'places': [{'region_name': 'R'}]}}}),
        ('CLUSTER_RESIZE', {'inputs': {'adjustment_type': 'DOUBLE', 'number': 1}}),
        ('CLUSTER_RESIZE', {'inputs': {'min_size': -1}}),
        ('CLUSTER_RESIZE', {'inputs': {'min_step': -1}}),
        ('CLUSTER_RESIZE', {'inputs': {'strict': 'yes'}}),
        ('CLUSTER_RESIZE', {'data': {'creation': {'count': -1}}}),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': 'n1'}}),
    ],
)
def test_schema_refuses_the_inputs_and_the_data_that_policies_refuse(action, more, registry):
    """Values that end a check with `Expected ... got ...` do not fit the schema, either."""
    asked = request(action, [deletion_policy()], nodes(a=2), **more)

    reply = Endpoints(CLOUD, registry).policy_check(asked)

    assert reply['action']['data']['reason'].startswith('Expected ')
    assert len(problems('policy_check.request', asked)) == 1


ABSENT = dict.fromkeys(('adjustment_type', 'number', 'min_size', 'max_size', 'min_step', 'strict'))


@pytest.mark.parametrize(
    ('action', 'more', 'fits'),
    [
        ('CLUSTER_SCALE_OUTT', {}, False),
        ('NODE_CREATE', {}, False),
        ('NODE_CREATE', {'node': None}, False),
        ('NODE_CREATE', {'node': node(2)}, True),
        ('CLUSTER_RESIZE', {'inputs': ABSENT}, True),
    ],
)
def test_schema_refuses_actions_that_workers_refuse(action, more, fits):
    """An unknown action, or one without its node, does not fit; Senlin's nulls do."""
    found = problems('policy_check.request', request(action, [], nodes(a=1), **more))

    assert (found == []) is fits
