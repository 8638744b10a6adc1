"""Tests for dry runs of the load-balancing policy."""

import pytest

from tests.factories import connected, node, request
from tests.simulated_octavia import Lab

CREATED = {'creation': {'nodes': ['n3', 'n4']}}
GONE = {'deletion': {'candidates': ['n1', 'n2']}}


@pytest.mark.parametrize(
    ('batch', 'action', 'target', 'more', 'reason', 'details'),
    [
        (
            True, 'CLUSTER_SCALE_OUT', 'AFTER', {'data': CREATED},
            '2 to be added, in 1 update; nothing was written',
            {'added': ['n3', 'n4'], 'updates': 1},
        ),
        (
            False, 'CLUSTER_SCALE_OUT', 'AFTER', {'data': CREATED},
            '2 to be added, in 2 updates; nothing was written',
            {'added': ['n3', 'n4'], 'updates': 2},
        ),
        (
            True, 'CLUSTER_SCALE_OUT', 'AFTER', {'data': {'creation': {'nodes': ['n1']}}},
            '1 in the pool already, in 0 updates; nothing was written',
            {'already_there': ['n1'], 'updates': 0},
        ),
        (
            True, 'CLUSTER_SCALE_IN', 'BEFORE', {'data': GONE},
            '2 to be removed, in 1 update; nothing was written',
            {'removed': ['n1', 'n2'], 'updates': 1},
        ),
        (
            False, 'CLUSTER_SCALE_IN', 'BEFORE', {'data': GONE},
            '2 to be removed, in 2 updates; nothing was written',
            {'removed': ['n1', 'n2'], 'updates': 2},
        ),
        (
            True, 'NODE_DELETE', 'BEFORE', {'node': connected(3)},
            'Nothing to change, in 0 updates; nothing was written',
            {'passed_over': ['n3'], 'updates': 0},
        ),
        (
            True, 'NODE_CREATE', 'AFTER', {'node': node(5)},
            'Nothing to change, in 0 updates; nothing was written',
            {
                'updates': 0,
                'failed': {
                    'n5': 'The node has no address of IP version 4 on network private of subnet '
                    'private-subnet'
                },
            },
        ),
    ],
)  # fmt: skip
def test_dry_run_reports_the_updates_of_the_real_run(batch, action, target, more, reason, details):
    """A dry run reports the updates that the real run takes."""
    lab = Lab(batch_members=batch)
    policy, members = lab.attached([connected(1), connected(2)])
    asked = request(
        action,
        [policy],
        [*members, connected(3), connected(4)],
        target=target,
        dry_run=True,
        **more,
    )
    before = lab.settled()
    lab.calls.clear()

    reply = lab.check(asked)

    (decision,) = reply['decisions']
    assert (decision['outcome'], decision['reason']) == ('APPLIED', reason)
    assert decision['details'] == {
        'pool': policy['data']['LoadBalancingPolicy']['data']['pool'],
        'added': [], 'removed': [], 'already_there': [], 'passed_over': [], 'failed': {},
        'api_calls': len(lab.calls), 'estimated_s': float(details['updates']), **details,
    }  # fmt: skip
    assert lab.settled() == before
    assert not any(call.writes for call in lab.calls)
    assert reply['nodes'] == {}

    really = lab.check({**asked, 'dry_run': False})['decisions'][0]['details']
    assert {key: really[key] for key in details} == details


def test_dry_run_chooses_the_victims_of_the_real_run(registry):
    """A dry run chooses the same victims as the real run."""
    lab = Lab()
    policy, members = lab.attached([connected(number) for number in range(1, 9)])
    asked = request('CLUSTER_SCALE_IN', [policy], members, inputs={'count': 3})

    dry = lab.check({**asked, 'dry_run': True})['action']['data']

    assert dry == lab.check(asked)['action']['data']
    assert len(dry['deletion']['candidates']) == 3
