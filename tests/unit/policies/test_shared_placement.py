"""Functions that zone and region placement share."""

from dataclasses import replace

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest
from placement_worker.planning.sizing import Size
from placement_worker.policies import shared_placement
from placement_worker.policies.base import State
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.shared_placement import Task
from placement_worker.policies.zone_placement import ZonePlacement
from tests.factories import NOW, request


def made(action, members=(), **more):
    asked = codec.decode(request(action, [], members, **more), CheckRequest)
    data = ActionData(asked.action.data)
    return asked, State(data, Snapshot(Inventory(), asked.cluster), 1000, NOW)


@pytest.mark.parametrize(
    ('kind', 'of_request', 'earlier', 'warns'),
    [
        ('zone', None, [{'zone': 'a'}, {'zone': 'a'}], True),
        ('zone', None, [{'zone': 'b'}, {'zone': 'a'}], False),
        ('zone', None, [{'region_name': 'R2'}, {}], False),
        ('zone', None, None, False),
        ('zone', [{'zone': 'a'}] * 2, [{'zone': 'a'}] * 2, False),
        ('zone', [{'zone': 'b'}] * 2, [{'zone': 'a'}] * 2, True),
        ('region', None, [{'region_name': 'R2'}], True),
        ('region', None, [{'region_name': 'R1'}], False),
    ],
)
def test_plan_that_replaces_places_of_an_earlier_policy_has_a_warning(
    kind, of_request, earlier, warns
):
    """An operator sees that places of a plugin have no effect; those of an engine may change."""

    def data(entries):
        return {} if entries is None else {'placement': {'placements': entries}}

    inputs = {'count': 2}
    asked, state = made('CLUSTER_SCALE_OUT', data=data(of_request), inputs=inputs)
    state = replace(state, action_data=ActionData(data(earlier)))
    task = Task.for_check(asked, state)
    entries = [{'region_name': 'R1', 'zone': zone} for zone in 'ab']

    policy = {'zone': ZonePlacement, 'region': RegionPlacement}[kind](None)
    warnings = policy._replaced(task, entries)

    replaced = (
        f'{kind.capitalize()} placement replaces the {kind}s that an earlier policy chose; that '
        f'policy must run after senlin.policy.{kind}_placement'
    )
    assert warnings == [replaced] * warns


@pytest.mark.parametrize(
    ('size', 'number', 'expected'),
    [
        (Size(CREATION, 1), 1, '1 node goes to 1 zone'),
        (Size(CREATION, 3), 2, '3 nodes go to 2 zones'),
        (Size(DELETION, 1), 1, '1 node leaves 1 zone'),
        (Size(DELETION, 3), 2, '3 nodes leave 2 zones'),
        (Size(CREATION, 1), 0, '1 node is created without a zone'),
        (Size(DELETION, 2), 0, '2 nodes of no known zone leave'),
        (Size(CREATION, 2, 'limited to 9'), 1, '2 nodes go to 1 zone; limited to 9'),
    ],
)
def test_summary_counts_nodes_and_places(size, number, expected):
    """The reason names the numbers of nodes and places, and the bound of the size."""
    assert shared_placement.summary(size, 'zone', number) == expected
