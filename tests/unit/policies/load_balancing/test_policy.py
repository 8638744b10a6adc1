"""Tests for the checks of the load-balancing policy; other modules of this folder test the rest."""

import pytest

from tests.factories import connected, load_balancing_policy, node, request
from tests.simulated_octavia import Lab


@pytest.mark.parametrize(
    ('asked', 'reason'),
    [
        (
            {'action': 'CLUSTER_SCALE_IN', 'data': {'hooks': {'type': 'zaqar'}}},
            'The engine takes the nodes out of the pool after its lifecycle hooks.',
        ),
        ({'action': 'CLUSTER_DEL_NODES'}, 'No node is to be deleted.'),
        (
            {'action': 'CLUSTER_SCALE_IN', 'min_size': 1},
            'The engine will refuse to leave fewer than min_size (1) nodes.',
        ),
        (
            {
                'action': 'CLUSTER_SCALE_OUT',
                'target': 'AFTER',
                'inputs': {'action_result': 'ERROR'},
            },
            'The action did not succeed.',
        ),
        ({'action': 'CLUSTER_SCALE_OUT', 'target': 'AFTER'}, 'No node was created.'),
    ],
)
def test_check_without_a_change_of_members_is_skipped_with_the_reason(asked, reason):
    """A check that changes no member is skipped with its reason, without a call to Octavia."""
    lab = Lab()

    reply = lab.check(request(policies=[load_balancing_policy()], members=[node(1)], **asked))

    assert [(one['outcome'], one['reason']) for one in reply['decisions']] == [('SKIPPED', reason)]
    assert lab.calls == []


def test_check_without_stored_load_balancer_fails():
    """A binding that was never attached fails the check."""
    reply = Lab().check(
        request('NODE_DELETE', [load_balancing_policy()], [connected(1)], node=connected(1))
    )

    assert reply['action']['data']['reason'] == (
        'The binding holds no load balancer: attach the policy before it is checked.'
    )
