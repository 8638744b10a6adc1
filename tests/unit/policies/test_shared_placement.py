"""Functions that zone and region placement share."""

from dataclasses import replace

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION, ActionData
from placement_worker.contract.model import CheckRequest, NodePatch, Spec
from placement_worker.errors import InvalidSpec
from placement_worker.planning.shortage import Backoff
from placement_worker.planning.sizing import Size
from placement_worker.policies import shared_placement
from placement_worker.policies.base import State
from placement_worker.policies.places import OnShortage, Spread
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


AT = '$.properties'
KINDS = pytest.mark.parametrize('kind', ['zone', 'region'])


def policy_of(registry, kind, version='1.1', **properties):
    properties = {f'{kind}s': [{'name': 'a'}], **properties}
    return registry.policy(Spec(f'senlin.policy.{kind}_placement', version, properties), '$')


@KINDS
@pytest.mark.parametrize(
    ('given', 'spread', 'on_shortage'),
    [
        ({}, Spread('best_effort', 1), OnShortage('redistribute', 300, 3600)),
        ({'mode': 'strict'}, Spread('strict', 1), None),
        ({'max_skew': '3'}, Spread('best_effort', 3), None),
        ({'mode': 'ignore'}, None, OnShortage('ignore', 300, 3600)),
        ({'initial_s': '60', 'max_s': 60}, None, OnShortage('redistribute', 60, 60)),
    ],
)
def test_properties_of_version_1_1_have_defaults(registry, kind, given, spread, on_shortage):
    """Plans beyond a skew of one node warn, and shortages delay nodes for minutes to an hour."""
    if spread:
        assert policy_of(registry, kind, spread=given).properties.spread == spread
    if on_shortage:
        assert policy_of(registry, kind, on_shortage=given).properties.on_shortage == on_shortage
    if not given:
        found = policy_of(registry, kind).properties
        assert (found.spread, found.on_shortage) == (spread, on_shortage)


@KINDS
@pytest.mark.parametrize(
    ('key', 'given', 'message', 'at'),
    [
        ('spread', {'mode': 'x'}, 'Expected one of `best_effort`, `strict`, got `x`', '.mode'),
        ('spread', {'max_skew': 0}, 'Expected `int` >= 1, got `0`', '.max_skew'),
        ('spread', {'max_skew': 0.5}, 'Expected `int` >= 1, got `0`', '.max_skew'),
        ('spread', {'max_skew': 'many'}, 'Expected `int`, got `str`', '.max_skew'),
        ('spread', 'strict', 'Expected `object`, got `str`', ''),
        ('on_shortage', {'initial_s': -1}, 'Expected `int` >= 1, got `-1`', '.initial_s'),
        ('on_shortage', {'max_s': 299}, 'Expected `max_s` >= `initial_s`, got `299` < `300`', ''),
    ],
)
def test_malformed_property_of_version_1_1_is_refused_with_its_path(
    registry, kind, key, given, message, at
):
    """A value out of bounds is refused where it stands, and the whole key by version 1.0."""
    with pytest.raises(InvalidSpec) as refused:
        policy_of(registry, kind, **{key: given})
    with pytest.raises(InvalidSpec, match=f'unknown field `{key}`'):
        policy_of(registry, kind, '1.0', **{key: {}})

    assert str(refused.value) == f'{message} - at `{AT}.{key}{at}`'


@KINDS
@pytest.mark.parametrize(
    ('version', 'given', 'expected'),
    [
        ('1.0', {}, None),
        ('1.1', {}, Backoff(300, 3600)),
        ('1.1', {'on_shortage': {'mode': 'ignore'}}, None),
    ],
)
def test_backoff_is_that_of_version_1_1_unless_it_is_ignored(
    registry, kind, version, given, expected
):
    """Version 1.0 and the mode `ignore` never redistribute nodes."""
    assert policy_of(registry, kind, version, **given).backoff == expected
