"""Tests for the order of policy types."""

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import SupportStatus
from placement_worker.errors import PolicyTypeNotFound
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.unit.policies.good_policy import Good, Properties


def test_types_are_sorted_by_the_numbers_of_their_versions():
    """Version 1.10 is newer than 1.9: in lists, in the support status and as a suggestion."""
    versions = ['1.0', '1.9', '1.10', '2.0', '10.0']
    status = [SupportStatus('SUPPORTED', '2026.11')]
    attributes = {
        'interface': (2, 0),
        'versions': dict.fromkeys(versions, Properties),
        'support_status': dict.fromkeys(sorted(versions), status),
    }
    several = type('Several', (Good,), attributes)
    names = [f'test.good-{one}' for one in versions]

    registry = Registry((name, several) for name in sorted(names))

    worker = Endpoints(Inventory(), registry)
    assert [one['name'] for one in worker.policy_type_list({})] == names
    assert worker.get_capabilities({})['policy_types'] == names
    assert list(registry.describe('test.good-1.0').support_status) == versions
    with pytest.raises(PolicyTypeNotFound, match=r'did you mean `test\.good-10\.0`'):
        registry.lookup('test.good', '$')
