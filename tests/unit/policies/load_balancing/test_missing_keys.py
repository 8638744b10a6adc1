"""Keys that an engine forgets AFTER an action."""

import pytest

from placement_worker.policies.load_balancing.policy import NO_NODES, NO_RECOVERY
from tests.factories import connected
from tests.unit.policies.load_balancing.building_blocks import after, decision

SCALE_OUT, RESIZE, ADD_NODES = 'CLUSTER_SCALE_OUT', 'CLUSTER_RESIZE', 'CLUSTER_ADD_NODES'
PLANNED = {'creation': {'count': 1}}


@pytest.mark.parametrize(
    ('action', 'more', 'warnings'),
    [
        (SCALE_OUT, {}, [NO_NODES]),
        (SCALE_OUT, {'data': PLANNED}, [NO_NODES]),
        (RESIZE, {'data': PLANNED}, [NO_NODES]),
        (ADD_NODES, {}, [NO_NODES]),
        (SCALE_OUT, {'data': {'creation': {'count': 1, 'nodes': []}}}, []),
        (SCALE_OUT, {'data': {'creation': {'count': 0}}}, []),
        (RESIZE, {}, []),
        (RESIZE, {'data': {'deletion': {'count': 1}}}, []),
    ],
)
def test_creation_without_its_nodes_gets_a_warning(lab, scaled_out, action, more, warnings):
    """An action that has created nodes, but does not list them, is skipped with a warning."""
    policy, members = scaled_out

    reply = lab.check(after(action, [policy], members, **more))

    assert (decision(reply)['outcome'], reply['warnings']) == ('SKIPPED', warnings)


@pytest.mark.parametrize(
    ('inputs', 'recovery', 'warnings'),
    [
        ({'operation': 'RECREATE'}, {}, [NO_RECOVERY]),
        ({'operation': 'RECREATE'}, {'recovery': 'REBOOT'}, []),
        ({'operation': 'REBOOT'}, {}, []),
        ({}, {}, []),
    ],
)
def test_recreation_without_recovery_gets_a_warning(lab, scaled_out, inputs, recovery, warnings):
    """A recreated node whose data do not say so keeps its member, with a warning."""
    policy, members = scaled_out
    healed = {**members[0], 'data': {**members[0]['data'], **recovery}}

    reply = lab.check(
        after('NODE_RECOVER', [policy], [healed, *members[1:]], node=healed, inputs=inputs)
    )

    assert (decision(reply)['outcome'], reply['warnings']) == ('SKIPPED', warnings)


def test_created_node_gets_no_warning(lab, scaled_out):
    """A new node of NODE_CREATE needs no list."""
    policy, members = scaled_out

    reply = lab.check(after('NODE_CREATE', [policy], members, node=connected(3)))

    assert (decision(reply)['outcome'], reply['warnings']) == ('APPLIED', [])
