"""Records of decisions."""

import datetime
import json
import math

import msgspec

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import CheckRequest, Package
from placement_worker.decisions.records import DecisionLog, Entry
from placement_worker.handlers.decision_state import Conditions
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import (
    bind,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.unit.policies.good_policy import Good

NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)


def shrinking():
    members = [*nodes(a=2, b=1), node(4, physical_id='s1')]
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy('RANDOM')]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2})


def test_record_holds_request_answers_version_and_reply(decide):
    """A line holds everything that a replay needs, and the reply."""
    line, reply = decide(shrinking())

    logged = json.loads(line)
    assert line.endswith(b'\n')
    assert line.count(b'\n') == 1
    assert list(logged) == list(Entry.__struct_encode_fields__)
    assert (logged['request_id'], logged['method'], logged['max_nodes']) == (
        'req-1',
        'policy_check',
        1000,
    )
    assert logged['reply'] == reply
    assert logged['request']['cluster']['nodes'][3]['physical_id'] == 's1'
    assert logged['cloud'][:3] == [
        {'asked': 'acting_for', 'of': ['p1'], 'answer': None},
        {'asked': 'home_region', 'of': [], 'answer': None},
        {'asked': 'regions', 'of': [], 'answer': ['R1', 'R2']},
    ]


def test_record_holds_the_answers_about_zones_and_servers(decide):
    """The responses of the cloud are recorded in the order of the calls."""
    asked = request(
        'CLUSTER_SCALE_IN', [zone_policy('a', 'b')], [*nodes(a=1), node(2, physical_id='s1')]
    )

    line, _ = decide(asked)

    asked_for = {answer['asked']: answer for answer in json.loads(line)['cloud']}
    server = {'OS-EXT-AZ:availability_zone': 'b', 'addresses': {}}
    assert asked_for['zones'] == {'asked': 'zones', 'of': [None], 'answer': {'a': True, 'b': True}}
    assert asked_for['servers'] == {
        'asked': 'servers',
        'of': [None, ['s1']],
        'answer': {'s1': server},
    }


def test_record_that_cannot_be_encoded_is_reported_and_raises_nothing(caplog):
    """A decision that cannot be recorded is reported in the log; its caller gets the reply."""
    lines, deep = [], {}
    for _ in range(100_000):
        deep = {'a': deep}
    asked = msgspec.convert(request('NODE_CREATE', []), CheckRequest)

    conditions = Conditions(Inventory(), OctaviaSettings(), 1, NOW, left_s=lambda: math.inf)
    record = DecisionLog(lines.append).begin('req-1', conditions)
    record.end('policy_check', asked, deep)

    assert lines == []
    assert 'Failed to record the decision of request req-1: ' in caplog.text


def test_record_names_the_packages_of_the_policies_with_their_versions(registry):
    """The record names the code of a plugin that decided, also after a fix within the same type."""
    lines = []
    packages = {'test.good-1.0': Package('acme', '2.1'), 'test.good-1.1': Package('later', '1')}
    own = type('Own', (Good,), {'interface': (2, 0)})
    types = Registry([*registry.types.items(), ('test.good-1.0', own)])
    log = DecisionLog(lines.append, packages=packages)
    worker = Endpoints(Inventory.parse({'zones': {'a': True}}, 'test'), types, recorder=log)
    good = {'id': 'p', 'spec': {'type': 'test.good', 'version': 1.0}}
    disabled = {'id': 'q', 'enabled': False, 'spec': {'type': 'test.good', 'version': '1.1'}}

    worker.policy_check(request('CLUSTER_SCALE_OUT', [good, disabled, zone_policy('a')]))
    worker.policy_attach(bind(good))
    worker.policy_check(request('CLUSTER_SCALE_OUT', [zone_policy('a')]))

    assert [json.loads(line)['packages'] for line in lines] == [['acme 2.1'], ['acme 2.1'], []]
