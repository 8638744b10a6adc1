"""The properties of the versions of the deletion policy."""

import pytest

from placement_worker.errors import InvalidSpec
from tests.factories import deletion_policy, nodes, request
from tests.unit.policies.replies import deleted

SCALE_IN = 'CLUSTER_SCALE_IN'


def test_version_1_0_needs_no_hooks(check):
    """A policy of version 1.0 chooses victims as version 1.1 does."""
    reply = check(request(SCALE_IN, [deletion_policy(version='1.0')], nodes(a=2)))

    assert deleted(reply) == ['n1']


def test_other_mode_is_refused(check):
    """The property has two values."""
    policy = deletion_policy(version='1.2', protection='loose')

    with pytest.raises(InvalidSpec) as refused:
        check(request(SCALE_IN, [policy], nodes(a=1)))

    assert str(refused.value) == (
        'Expected one of `best_effort`, `strict`, got `loose` - at '
        '`$.policies[0].spec.properties.protection`'
    )


def test_property_of_version_1_2_is_unknown_to_earlier_versions(check):
    """The old versions keep their properties."""
    with pytest.raises(InvalidSpec, match='unknown field `protection`'):
        check(request(SCALE_IN, [deletion_policy(protection='strict')], nodes(a=1)))
