"""Tests for warnings of policy types that should no longer be used."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import SupportStatus
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry
from tests.factories import bind, nodes, request
from tests.unit.policies.good_policy import Good, Properties

CLOUD = Inventory.parse({'zones': {'az1': True}}, 'the test')
TEXT = 'Policy type test.good-1.0 is {} since 2026.11; use another version or another type'


def registry_of(*statuses):
    """Return a registry with a plugin whose version 1.0 has these statuses."""
    support = {'1.0': [SupportStatus(one, '2026.11') for one in statuses]}
    versions = dict.fromkeys(('1.0', '1.1'), Properties)
    attributes = {'interface': (2, 0), 'versions': versions, 'support_status': support}
    old = type('Old', (Good,), attributes)
    return Registry([('test.good-1.0', old), ('test.good-1.1', old)])


def policy(version):
    return {'id': 'p', 'spec': {'type': Good.name, 'version': version}}


@pytest.mark.parametrize('status', ['DEPRECATED', 'UNSUPPORTED'])
def test_binding_to_a_deprecated_version_is_a_warning(status):
    """A check and an attachment warn of the version; a detachment, which is advised, does not."""
    registry = registry_of('SUPPORTED', status)
    worker = Endpoints(CLOUD, registry)
    asked = request('CLUSTER_SCALE_OUT', [policy('1.0')], nodes(az1=1))

    assert worker.policy_check(asked)['warnings'] == [TEXT.format(status)]
    assert worker.policy_attach(bind(policy('1.0')))['warnings'] == [TEXT.format(status)]
    assert not worker.policy_detach(bind(policy('1.0'))).get('warnings')
    assert InProcessCaller(CLOUD, registry).policy_check(asked).warnings == [TEXT.format(status)]


@pytest.mark.parametrize(
    ('statuses', 'version'),
    [(['DEPRECATED'], '1.1'), (['EXPERIMENTAL', 'SUPPORTED'], '1.0'), ([], '1.0')],
)
def test_binding_to_another_version_is_no_warning(statuses, version):
    """Only the newest status of the version that a spec names counts."""
    worker = Endpoints(CLOUD, registry_of(*statuses))

    reply = worker.policy_check(request('CLUSTER_SCALE_OUT', [policy(version)], nodes(az1=1)))

    assert reply['warnings'] == []
