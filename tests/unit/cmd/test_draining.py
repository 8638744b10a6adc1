"""Tests for the wait between the removal of members and the deletion of their nodes."""

import msgspec
import pytest

from placement_worker.cmd import draining
from placement_worker.contract.model import Decision
from tests.factories import connected, deletion_policy, request
from tests.simulated_octavia import DESCRIPTION, Lab

BALANCING = 'senlin.policy.loadbalance-1.4'


def decided(policy_type=BALANCING, **details):
    """Return the decision of one policy."""
    return Decision('p', None, policy_type, 500, 'APPLIED', 'r', 1.0, details)


@pytest.mark.parametrize(
    ('deletion', 'decision', 'seconds'),
    [
        ({'grace_period': 60}, decided(removed=['n1']), 60),
        ({'grace_period': 60}, decided(removed=[]), 0),
        ({'grace_period': 60}, decided('senlin.policy.deletion-1.1', removed=['n1']), 0),
        ({'grace_period': 0}, decided(removed=['n1']), 0),
        ({'grace_period': 'long'}, decided(removed=['n1']), 0),
        ({'grace_period': True}, decided(removed=['n1']), 0),
        ({'grace_period': -5}, decided(removed=['n1']), 0),
        ('soon', decided(removed=['n1']), 0),
        ({}, decided(removed=['n1']), 0),
        (None, decided(removed=['n1']), 0),
    ],
)
def test_wait_is_the_grace_period_if_members_leave(deletion, decision, seconds):
    """Without members that leave there is nothing to drain, so there is no wait to show."""
    assert draining.wait_s({'deletion': deletion}, [decision]) == seconds


@pytest.fixture
def files():
    """Return the arguments and the files of a scale-in whose cloud file has the pool."""
    lab = Lab()
    policy, members = lab.attached([connected(n) for n in range(1, 4)], version='1.4')
    asked = request('CLUSTER_SCALE_IN', [deletion_policy(grace_period=60), policy], members)
    return lab, asked


@pytest.mark.parametrize(
    ('command', 'line'),
    [
        ('check', '    wait: members leave now, nodes are deleted 60 s later'),
        ('plan', 'Wait: members leave now, nodes are deleted 60 s later'),
    ],
)
def test_tables_of_check_and_plan_show_the_wait(program, tmp_path, files, command, line):
    """Both commands say when the nodes are deleted."""
    lab, asked = files
    state = tmp_path / 'state.json'
    with lab.store.changing() as objects:
        state.write_bytes(msgspec.json.encode(objects))
    cloud = {**DESCRIPTION, 'load_balancer': {'state': str(state)}}

    _, out, _ = program(command, '--cloud', 'cloud', 'asked', asked=asked, cloud=cloud)

    assert line in out.splitlines()
