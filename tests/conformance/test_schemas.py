"""The conformance tables, against the JSON Schemas of requests and replies."""

import json

import pytest
from jsonschema import Draft202012Validator

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import types
from placement_worker.handlers.service import Endpoints
from tests.conformance.conformance import CASES


@pytest.fixture(scope='module')
def validators():
    """Return the validators of the request and of the reply of a check."""
    return [
        Draft202012Validator(json.loads(types.message_schema(f'policy_check.{part}')))
        for part in ('request', 'reply')
    ]


@pytest.mark.parametrize('case', CASES, ids=lambda case: case['id'])
def test_request_and_reply_of_each_case_fit_their_schemas(case, registry, validators):
    """The schemas allow each request of the tables, and each reply that a worker gives."""
    reply = Endpoints(Inventory.parse(case['cloud'], 'case'), registry).policy_check(
        case['request']
    )

    found = [
        f'{one.json_path}: {one.message}'
        for validator, message in zip(validators, (case['request'], reply), strict=True)
        for one in validator.iter_errors(message)
    ]
    assert found == []
