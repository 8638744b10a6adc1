"""Functions that zone and region placement share."""

from dataclasses import replace

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest, NodePatch
from placement_worker.planning.sizing import Size
from placement_worker.policies import shared_placement
from placement_worker.policies.base import State
from placement_worker.policies.region_placement import RegionPlacement
from placement_worker.policies.shared_placement import Task
from placement_worker.policies.zone_placement import ZonePlacement
from tests.factories import NOW, node, nodes, request


def made(action, members=(), **more):
    """Return a decoded request and the state that its policies start from."""
    asked = codec.decode(request(action, [], members, **more), CheckRequest)
    data = ActionData(asked.action.data)
    return asked, State(data, Snapshot(Inventory(), asked.cluster), 1000, NOW)


def test_groups_of_a_deletion_are_unhealthy_never_created_and_healthy():
    """A deletion counts up to three groups, a creation one; groups without nodes are left out."""
    members = [*nodes(a=2), node(3, 'a', status='ERROR'), node(4, 'b', created_at=None)]
    asked, state = made('CLUSTER_SCALE_IN', members)

    def groups(kind, *protected):
        task = Task(asked, state, Size(kind, 1), Size(kind, 1), protected)
        held = task.held(state.cloud.by_zone(asked.cluster.nodes), state.cloud.by_zone)
        return held.groups, held.staying

    assert groups(DELETION) == ([{'a': 1}, {'b': 1}, {'a': 2}], {})
    assert groups(DELETION, 'n1', 'n4') == ([{'a': 1}, {'a': 1}], {'a': 1, 'b': 1})
    assert groups(CREATION) == ([{'a': 3, 'b': 1}], {})


@pytest.mark.parametrize(
    'more',
    [
        {'data': {'deletion': {'candidates': ['n4', 'n2']}}},
        {'inputs': {'candidates': ['n4', 'n2']}},
        {'data': {'deletion': {'candidates': ['n4', 'n2']}}, 'inputs': {'candidates': ['n1']}},
    ],
)
def test_groups_of_a_deletion_begin_with_the_victims_that_are_chosen(more):
    """A plan removes the nodes that an earlier policy or the action has chosen before others."""
    members = [*nodes(a=1, b=1), node(3, 'a', status='ERROR'), node(4, 'b', created_at=None)]
    asked, state = made('CLUSTER_SCALE_IN', members, **more)

    task = Task(asked, state, Size(DELETION, 1), Size(DELETION, 1), ['n2'])

    held = task.held(state.cloud.by_zone(asked.cluster.nodes), state.cloud.by_zone)

    assert (held.groups, held.staying) == ([{'b': 1}, {'a': 1}, {'a': 1}], {'b': 1})


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

    asked, state = made('CLUSTER_SCALE_OUT', data=data(of_request))
    state = replace(state, action_data=ActionData(data(earlier)))
    task = Task.of(asked, state, Size(CREATION, 2))
    entries = [{'region_name': 'R1', 'zone': zone} for zone in 'ab']

    policy = {'zone': ZonePlacement, 'region': RegionPlacement}[kind](None)
    warnings = policy._replaced(task, entries)

    replaced = (
        f'{kind.capitalize()} placement replaces the {kind}s that an earlier policy chose; that '
        f'policy must run after senlin.policy.{kind}_placement'
    )
    assert warnings == [replaced] * warns


PROTECTED = {'metadata': {'protected': 'true'}}


def test_task_of_a_deletion_is_limited_to_the_nodes_that_are_not_protected():
    """A deletion removes no more nodes than may be deleted."""
    members = [*nodes(a=1), node(2, **PROTECTED), node(3, **PROTECTED)]
    asked, state = made('CLUSTER_SCALE_IN', members)

    tasks = [Task.of(asked, state, Size(DELETION, count)) for count in (1, 2)]

    assert [task.possible.count for task in tasks] == [1, 1]
    assert [sorted(task.protected) for task in tasks] == [['n2', 'n3']] * 2


@pytest.mark.parametrize(
    ('size', 'reason'),
    [
        (Size(CREATION, 1), None),
        (Size(DELETION, 0), shared_placement.NOTHING_TO_DO.rstrip('.')),
        (Size(DELETION, 1), None),
    ],
)
def test_task_without_a_node_to_create_or_to_delete_has_a_reason_to_be_skipped(size, reason):
    """A policy plans nothing if no node is to change; protected nodes do not hide other errors."""
    asked, state = made('CLUSTER_RESIZE', [node(1, **PROTECTED)])

    found = Task.of(asked, state, size).skip_reason

    assert (found and found.rstrip('.')) == reason


@pytest.mark.parametrize(
    ('action', 'placement', 'expected'),
    [
        ('NODE_CREATE', {'group': 'g'}, {'n1': {'placement': {'group': 'g', 'zone': 'a'}}}),
        ('NODE_CREATE', {'zone': 'a'}, {}),
        ('NODE_DELETE', {'group': 'g'}, {}),
    ],
)
def test_placed_node_is_patched_once(action, placement, expected):
    """Only the node of a NODE_CREATE is patched, unless its data have the place already."""
    asked, state = made(action, node=node(1, data={'placement': placement}))

    patches = shared_placement.placed_node(asked, state, [{'zone': 'a'}])

    assert patches == {key: NodePatch(data) for key, data in expected.items()}


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
