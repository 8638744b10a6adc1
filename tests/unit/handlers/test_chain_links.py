"""The links of a chain: their order, and the reasons to skip a policy."""

import msgspec
import pytest

from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidSpec
from placement_worker.handlers import chain_links
from tests.factories import deletion_policy, node, region_policy, request, zone_policy


def linked(registry, action, policies, **more):
    asked = msgspec.convert(request(action, policies, [node(1)], **more), CheckRequest)
    return chain_links.links_of(asked, registry)


def test_links_of_a_check_ignore_disabled_bindings(registry):
    """Only enabled bindings have a link."""
    policies = [deletion_policy(), zone_policy('a', enabled=False), region_policy('R1')]

    found = linked(registry, 'CLUSTER_SCALE_IN', policies)

    assert [link.policy.name.rpartition('.')[2] for link in found] == [
        'region_placement',
        'deletion',
    ]


def test_links_of_a_check_with_an_invalid_spec_are_refused(registry):
    """The error about properties has the path of the policy in the request."""
    with pytest.raises(InvalidSpec, match=r'\$\.policies\[1\]\.spec\.properties'):
        linked(registry, 'CLUSTER_SCALE_IN', [zone_policy('a'), deletion_policy('NEWEST')])


@pytest.mark.parametrize(('priority', 'expected'), [(7, 7), (None, 400)])
def test_link_priority_is_that_of_the_binding_or_of_the_type(registry, priority, expected):
    """The priority of the binding wins over that of the policy type."""
    (link,) = linked(registry, 'CLUSTER_SCALE_IN', [{**deletion_policy(), 'priority': priority}])

    assert link.priority == expected


@pytest.mark.parametrize(
    ('action', 'more', 'reason'),
    [
        ('CLUSTER_SCALE_IN', {}, None),
        ('CLUSTER_SCALE_IN', {'cause': 'Derived Action'}, None),
        ('NODE_DELETE', {'node': node(1), 'cause': 'RPC Request'}, None),
        ('NODE_DELETE', {'node': node(1), 'cause': None}, None),
        (
            'CLUSTER_SCALE_OUT',
            {},
            'senlin.policy.deletion does not handle CLUSTER_SCALE_OUT BEFORE.',
        ),
        (
            'NODE_DELETE',
            {'node': node(1), 'cause': 'Derived Action'},
            'NODE_DELETE is a derived action: the policies decide on the action that it is part '
            'of.',
        ),
    ],
)
def test_link_skip_reason_names_the_action(registry, action, more, reason):
    """A policy has a reason to be skipped unless it handles the action."""
    (link,) = linked(registry, action, [deletion_policy()], **more)

    assert link.skip_reason == reason


def test_link_skip_reason_names_an_unsupported_profile_type(registry):
    """A policy is skipped for a profile type that it does not support."""
    profile = {'id': 'p', 'type': 'os.heat.stack-1.0'}

    (link,) = linked(registry, 'CLUSTER_SCALE_OUT', [zone_policy('a')], profile=profile)

    assert link.skip_reason == (
        'senlin.policy.zone_placement does not support profile type os.heat.stack-1.0.'
    )


def test_link_skip_reason_suggests_the_version_of_a_profile_type(registry):
    """A profile type without its version, a common mistake, is explained."""
    profile = {'id': 'p', 'type': 'os.nova.server'}

    (link,) = linked(registry, 'CLUSTER_SCALE_OUT', [zone_policy('a')], profile=profile)

    assert link.skip_reason == (
        'senlin.policy.zone_placement does not support profile type os.nova.server '
        '(did you mean os.nova.server-1.0?).'
    )


def test_links_of_a_check_are_sorted_by_priority(registry):
    """The link with the lowest priority is the first."""
    found = linked(registry, 'CLUSTER_SCALE_IN', [deletion_policy(), zone_policy('a')])

    assert [link.priority for link in found] == [300, 400]
