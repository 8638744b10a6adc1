"""The reasons of victims that the deletion policy did not choose."""

import pytest

from placement_worker.contract import codec
from placement_worker.contract.model import ActionPatch, CheckReply, CheckRequest, Decision
from placement_worker.decisions import victim_choosers
from tests.factories import nodes, request


@pytest.mark.parametrize(
    ('types', 'expected'),
    [
        (['my.old'], 'chosen by p0: because of my.old'),
        (['senlin.policy.zone_placement', 'my.old'], 'chosen by p1: because of my.old'),
        (['my.old', 'senlin.policy.deletion', 'my.late'], 'chosen by p0: because of my.old'),
        (['my.old', 'my.young'], ''),
        (['senlin.policy.deletion', 'my.late'], ''),
        ([], ''),
    ],
)
def test_reason_names_the_only_plugin_before_the_deletion_policy(types, expected):
    """A plugin is named only if no other policy can have chosen the victim."""
    decisions = [
        Decision(f'p{i}', None, f'{name}-1.0', 1, 'APPLIED', f'because of {name}', 0, {})
        for i, name in enumerate(types)
    ]
    asked = codec.decode(request('CLUSTER_SCALE_IN', [], nodes(a=1)), CheckRequest)
    reply = CheckReply(action=ActionPatch('act-1', {}), cluster=None, nodes={}, decisions=decisions)

    assert victim_choosers.reason('n1', asked, reply) == expected
