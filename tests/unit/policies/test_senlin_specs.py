"""Specs that Senlin 16 accepts or refuses are treated alike, except as the manual documents.

`tests/senlin/spec_table.py` asks Senlin's code about each spec of the table.
`tests/senlin/test_specs.py` checks the table against Senlin.
"""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from placement_worker.contract import codec
from placement_worker.contract.model import ValidateRequest
from placement_worker.errors import Refused
from placement_worker.policies.registry import Registry

ROOT = Path(__file__).parents[3]
TABLE = json.loads((ROOT / 'tests' / 'senlin_specs.json').read_text())
MANUAL = ' '.join((ROOT / 'doc' / 'source' / 'comparison-senlin.rst').read_text().split())
ACCEPTED = [row for row in TABLE if 'properties' in row]
REGISTRY = Registry.installed()
REFUSED = [row for row in TABLE if 'error' in row]

# The worker's error -> the manual's words about such specs, which Senlin accepts.
ONLY_SENLIN = {
    r'got `bool`': '``true`` where a number belongs',
    r'Expected `str.*got `(array|object)`': 'a list or a map where a string belongs',
    r'Expected `(int|array)`.* [<>]= ': 'numbers out of range, and empty lists of places',
    r'Expected `str` of length >= 1|required field `name`': 'places and subnets without a name',
    r'Expected each name once': 'a place that is listed twice',
    r'Expected `pool.id` with `loadbalancer`': '``loadbalancer`` without ``pool.id``',
    r'Expected `cookie_name`': '``APP_COOKIE`` without ``cookie_name``',
    r'Expected `params': 'hooks without the queue or the URL of their type',
    r'A listener of protocol|A pool of protocol': 'monitor that Octavia does not combine',
    r'Expected an IP address': 'a ``vip.address`` that is no IP address',
    r'that begins with `/`': 'a ``url_path`` that does not begin with ``/``',
}
# Senlin's error -> the manual's words about such specs, which the worker accepts.
ONLY_HERE = {
    r"'None' is not a": '``null`` where a property may be absent',
    r'must be one of the allowed values': (
        'protocols, algorithms, probes and methods that Octavia has by now'
    ),
    r"'properties' not provided": 'a spec without ``properties`` if all have defaults',
}


def read(spec: Any) -> tuple[Any, str]:
    """Return the properties as the worker reads them, or None and the text of its error."""
    try:
        request = codec.decode({'spec': spec}, ValidateRequest)
        policy = REGISTRY.policy(request.spec, '$.spec')
        policy.check_attachable()
        return msgspec.to_builtins(policy.properties), ''
    except Refused as exc:
        return None, str(exc)


def effect(value: Any) -> Any:
    """Return properties without values that have no effect: null, empty, or the word NONE."""
    if isinstance(value, list):
        return [effect(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: effect(one) for key, one in value.items()}
    kept = {key: one for key, one in kept.items() if one not in (None, '', {}, 'NONE')}
    hooks = kept.get('hooks', {})
    return (
        kept if hooks.get('params') else {key: one for key, one in kept.items() if key != 'hooks'}
    )


def reason(table: dict[str, str], error: str) -> str:
    """Return the manual's words about an error that only one of the two raises."""
    return next(
        (said for words, said in table.items() if re.search(words, error)), f'no reason for {error}'
    )


def with_defaults(senlin: Any, worker: Any) -> Any:
    """Return Senlin's properties with the default for each null, with which Senlin fails later."""
    if isinstance(senlin, list):
        return [with_defaults(*pair) for pair in zip(senlin, worker, strict=True)]
    if not isinstance(senlin, dict) or not isinstance(worker, dict):
        return worker if senlin is None else senlin
    return {key: with_defaults(value, worker.get(key)) for key, value in senlin.items()}


@pytest.mark.parametrize('row', ACCEPTED, ids=lambda row: row['origin'])
def test_a_spec_that_senlin_accepts_is_read_alike_or_refused_for_a_documented_reason(row):
    """Specs that Senlin accepts are read as Senlin reads them, except as the manual documents."""
    properties, error = read(row['spec'])

    if error:
        assert reason(ONLY_SENLIN, error) in MANUAL
    else:
        assert effect(with_defaults(row['properties'], properties)) == effect(properties)


@pytest.mark.parametrize('row', REFUSED, ids=lambda row: row['origin'])
def test_a_spec_that_senlin_refuses_is_refused_or_accepted_for_a_documented_reason(row):
    """Specs that Senlin refuses are refused with a path, except as the manual documents."""
    _, error = read(row['spec'])

    if error:
        assert ' - at `$.spec' in error
    else:
        assert reason(ONLY_HERE, row['error']) in MANUAL
