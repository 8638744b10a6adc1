"""The changes of a plan."""

import msgspec
import pytest
from msgspec import structs

from placement_worker.cmd import plan_changes
from placement_worker.cmd.output import Paint
from placement_worker.cmd.plan import plan_lines
from placement_worker.cmd.plan_changes import Changes, PlaceChange, PoolChange, SkippedPolicy
from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckReply, CheckRequest, Decision
from placement_worker.planning.sizing import Size
from tests.factories import (
    connected,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab

POOL = {
    'pool': 'p1',
    'added': ['n4', 'n5'],
    'removed': [],
    'already_there': ['n1'],
    'failed': {'n6': 'no address'},
    'api_calls': 3,
    'updates': 2,
    'estimated_s': 6.5,
    'waited_s': 0,
}


def lines_of(changes):
    return list(plan_lines(changes, Paint(on=False)))


def with_pool(**details):
    change = PoolChange('balanced', {**POOL, **details})
    return Changes('CLUSTER_SCALE_OUT', 'a1', 'AFTER', 'web', 'OK', 'done', size=5, pools=[change])


def test_changes_with_an_unchanged_pool_are_none():
    """A pool that keeps its members is no change."""
    assert with_pool().any
    assert with_pool(added=[], removed=['n1']).any
    assert not with_pool(added=[]).any


def test_shown_with_a_pool_lists_members_updates_and_time():
    """A changed pool has its members, updates and time; an unchanged one has no cost."""
    assert lines_of(with_pool(removed=['n2']))[2:-1] == [
        'Pool p1 (balanced):',
        '  - n2',
        '  + n4',
        '  + n5',
        '    already there: n1',
        '    failed: n6: no address',
        '    api calls: 3',
        '    2 load-balancer updates, about 6.5 s',
        '',
        'Plan: 2 load-balancer updates. Nothing was done.',
    ]
    assert lines_of(with_pool(added=[], updates=0, estimated_s=0))[3:-3] == [
        '    already there: n1',
        '    failed: n6: no address',
    ]


def test_shown_without_a_decision_lists_the_updates_before_the_reasons():
    """The reasons follow all counts of the plan."""
    skipped = [SkippedPolicy('p', 'a'), SkippedPolicy('q', 'b')]
    found = structs.replace(with_pool(), deleted=2, policies=2, skipped=skipped)

    assert lines_of(found)[-2] == (
        'Plan: 2 nodes to delete, 2 load-balancer updates; no policy chose the nodes: a; b. '
        'Nothing was done.'
    )


MEMBERS = nodes(a=2, b=2)


def compare(asked, replied):
    return plan_changes.compare(
        codec.decode(asked, CheckRequest), codec.decode(replied, CheckReply)
    )


def plugin_wrote(replied, **data):
    """Return a reply in whose data a later policy of a plugin wrote other values."""
    action = {**replied['action'], 'data': {**replied['action']['data'], **data}}
    return {**replied, 'action': action}


@pytest.mark.parametrize('region', [None, 'R1'])
def test_changes_with_a_replaced_creation_are_those_of_the_reply(check, region):
    """If a plugin replaces the plan of the placement policies, the new entries are counted."""
    members = [node(1, 'a', region), node(2, 'b', region)]
    policies = [zone_policy('a', 'b')] + [region_policy('R1')] * bool(region)
    asked = request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': 2}, explain='full')
    place = {'region_name': region} if region else {}
    replied = plugin_wrote(
        check(asked, 'abc', ['R1']),
        creation={'count': 2, 'zones': {'b': 1, 'c': 1}},
        placement={'count': 2, 'placements': [{**place, 'zone': zone} for zone in 'bc']},
    )

    zones = compare(asked, replied).places['zones']

    prefix = 'R1/' if region else ''
    changes = [('a', 1, 1), ('b', 1, 2), ('c', 0, 1)]
    assert zones == [PlaceChange(prefix + name, *counts) for name, *counts in changes]


def test_changes_with_an_unchanged_plan_keep_its_notes(check):
    """The plan of a placement policy that no later policy replaced is shown with its notes."""
    asked = request(
        'CLUSTER_SCALE_OUT', [zone_policy('a', 'z')], MEMBERS, inputs={'count': 1}, explain='full'
    )

    zones = compare(asked, check(asked, 'ab')).places['zones']

    assert PlaceChange('a', 2, 3) in zones
    assert [row.note for row in zones if row.name == 'z'] == ['unknown to the cloud']


@pytest.mark.parametrize('policies', [[], [deletion_policy()]])
def test_changes_with_other_victims_than_planned_are_those_of_the_victims(check, policies):
    """If a plugin chooses other victims after zone placement, their places are counted."""
    asked = request(
        'CLUSTER_SCALE_IN',
        [zone_policy('a', 'b'), *policies],
        MEMBERS,
        inputs={'count': 2},
        explain='full',
    )
    deletion = {'count': 2, 'zones': {'a': 1, 'b': 1}, 'candidates': ['n1', 'n2']}

    found = compare(asked, plugin_wrote(check(asked, 'ab'), deletion=deletion))

    assert found.places == {'zones': [PlaceChange('a', 2, 0), PlaceChange('b', 2, 2)]}


OUT, IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'
NEW_PLACES = {'placements': [{'zone': 'b'}, {'zone': 'new'}]}
ONE_PLACE = [{'region_name': 'R', 'zone': 'b', 'count': 1}]


@pytest.mark.parametrize(
    ('action', 'data', 'kind', 'expected'),
    [
        (
            OUT,
            {'creation': {'count': 2}, 'placement': NEW_PLACES},
            'zones',
            [('a', 2, 2), ('b', 2, 3), ('new', 0, 1)],
        ),
        (OUT, {'creation': {'count': 1, 'zones': {'b': 1}}}, 'zones', [('a', 2, 2), ('b', 2, 3)]),
        (
            OUT,
            {'creation': {'count': 1, 'regions': {'R2': 1}}},
            'regions',
            [('a', 2, 2), ('b', 2, 2), ('R2', 0, 1)],
        ),
        (IN, {'deletion': {'count': 1, 'zones': {'b': 1}}}, 'zones', [('a', 2, 2), ('b', 2, 1)]),
        (
            IN,
            {'deletion': {'count': 1, 'places': ONE_PLACE}},
            'zones',
            [('a', 2, 2), ('b', 2, 2), ('R/b', 0, 0)],
        ),
        (OUT, {'creation': {'count': 1}}, None, []),
    ],
)
def test_changes_without_a_placement_policy_are_those_of_the_data(
    check, action, data, kind, expected
):
    """The plan of a plugin alone is shown by place."""
    asked = request(action, [], MEMBERS)

    found = compare(asked, plugin_wrote(check(asked), **data))

    assert found.places == ({kind: [PlaceChange(*row) for row in expected]} if kind else {})


def test_changes_with_details_of_a_plugin_ignore_them(check):
    """The details of a plugin have its own form, also under the names of rows."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], MEMBERS, inputs={'count': 1})
    replied = check(asked, 'ab')
    names = ('zones', 'regions', 'victims', 'protected_nodes')
    own = {
        **replied['decisions'][0],
        'policy_type': 'acme.policy.own-1.0',
        'details': {name: ['a', {'b': 1}] for name in names},
    }

    found = compare(asked, {**replied, 'decisions': [*replied['decisions'], own]})

    assert found.places['zones'][0] == PlaceChange('a', 2, 3)


@pytest.mark.parametrize('outcome', ['APPLIED', 'SKIPPED'])
def test_compare_with_a_load_balancing_decision_reads_the_pool(outcome):
    """The change of a pool comes from the decision of the load-balancing policy."""
    kind = 'senlin.policy.loadbalance-1.3'
    decision = Decision('p', None, kind, 500, outcome, 'r', 1.0, POOL)
    action = {'id': 'a', 'data': {'status': 'OK', 'reason': 'r'}}
    reply = {'action': action, 'cluster': None, 'nodes': {}, 'decisions': [decision]}
    asked = request('CLUSTER_UPDATE', [zone_policy('a')], nodes(a=1))

    found = compare(asked, msgspec.to_builtins(reply))

    assert found.pools == [PoolChange('p', POOL)] * (outcome == 'APPLIED')
    assert found.any is (outcome == 'APPLIED')


def test_compare_with_spared_victims_counts_the_places_of_the_others():
    """If a health floor spares victims, the plan by zone is replaced by the actual victims."""
    lab = Lab(description={'zones': {'a': True, 'b': True}})
    placed = [connected(n, data={'placement': {'zone': 'ab'[n % 2]}}) for n in range(1, 5)]
    policy, members = lab.attached(placed, version='1.4', min_online=3)
    policies = [zone_policy('a', 'b'), deletion_policy(grace_period=9), policy]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}, dry_run=True)

    found = compare(asked, lab.check(asked))

    (changes,) = found.places.values()
    assert (found.deleted, found.wait_s) == (1, 9)
    assert sorted(row.after - row.before for row in changes) == [-1, 0]


def test_compare_a_deletion_has_the_protected_nodes(check):
    """The plan shows the nodes that are protected, with end and reason, and counts the others."""
    members = [*nodes(a=1), node(2, 'a', metadata={'protected': {'until': '9999-12-01'}})]
    members.append(node(3, 'b', metadata={'protected': {'reason': 'batch\x1b job'}}))
    asked = request(
        'CLUSTER_SCALE_IN',
        [zone_policy('a', 'b'), deletion_policy()],
        members,
        inputs={'count': 2},
        explain='full',
    )

    found = compare(asked, check(asked, 'ab'))

    assert lines_of(found)[1:] == [
        'CLUSTER_SCALE_IN of cluster web, BEFORE: 3 nodes -> 2',
        '',
        'Zones:',
        '  - a  2 -> 1  -1     1 protected',
        '    b  1 -> 1         1 protected',
        '',
        'To be deleted, in this order:',
        '  - n1  a  oldest in a  ACTIVE',
        '',
        'Protected from deletion:',
        '    n2  a  until 9999-12-01',
        '    n3  b                    batch\\u001b job',
        '',
        'Plan: 1 node to delete. Nothing was done.',
        '',
    ]


@pytest.fixture
def victims_of():
    """Return a function that plans an action on two members of a pool: victim -> its reason."""

    def plan(action, *policies, **more):
        lab = Lab()
        policy, members = lab.attached([connected(1), connected(2)])
        asked = request(action, [policy, *policies], members, dry_run=True, **more)
        return {victim.id: victim.reason for victim in compare(asked, lab.check(asked)).victims}

    return plan


ONE = {'inputs': {'count': 1}}
NAMED = {'n2': 'named by the action'}
CHOSEN = {'data': {'deletion': {'count': 1, 'candidates': ['n1']}}}


@pytest.mark.parametrize(
    ('action', 'policies', 'more', 'expected'),
    [
        ('CLUSTER_SCALE_IN', [], ONE, {'n2': 'chosen by load balancing'}),
        ('CLUSTER_SCALE_IN', [deletion_policy()], ONE, {'n1': ''}),
        ('CLUSTER_SCALE_IN', [], {**ONE, **CHOSEN}, {'n1': ''}),
        ('CLUSTER_DEL_NODES', [], {'inputs': {'candidates': ['n2']}}, NAMED),
        ('NODE_DELETE', [deletion_policy()], {'node': connected(2)}, NAMED),
    ],
    ids=['load balancing', 'another policy', 'chosen before', 'named', 'node'],
)
def test_reason_of_a_victim_names_what_chose_it(victims_of, action, policies, more, expected):
    """A reply without ranks does not attribute the choice of a policy to load balancing."""
    assert victims_of(action, *policies, **more) == expected


def size(action, data=(), **more):
    """Return the size of an action on a cluster of three nodes, with `data` in the reply."""
    asked = codec.decode(request(action, [], nodes(a=3), **more), CheckRequest)
    return plan_changes._size_of(asked, dict(data))


RESIZE = {'adjustment_type': 'EXACT_CAPACITY', 'number': 5000}
NODE = {'node': node(9)}


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        ('CLUSTER_SCALE_OUT', {'inputs': {'count': 6}}, Size(CREATION, 6)),
        ('CLUSTER_SCALE_OUT', {}, Size(CREATION, 1)),
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 2}}, Size(DELETION, 2)),
        ('CLUSTER_SCALE_IN', {'inputs': {'count': 9}}, Size(DELETION, 3)),
        ('CLUSTER_RESIZE', {'inputs': RESIZE}, Size(CREATION, 4997)),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n2']}}, Size(DELETION, 2)),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, Size(DELETION, 0)),
        ('CLUSTER_DELETE', {}, Size(DELETION, 3)),
        ('CLUSTER_UPDATE', {'inputs': {'name': 'x'}}, Size(CREATION, 0)),
        ('CLUSTER_CREATE', {'desired_capacity': 5}, Size(CREATION, 2)),
        ('CLUSTER_CREATE', {'desired_capacity': 2}, Size(CREATION, 0)),
        ('NODE_CREATE', {**NODE, 'data': {'creation': {'count': 4}}}, Size(CREATION, 4)),
        ('NODE_CREATE', {**NODE, 'data': {'creation': {'zones': {'a': 1}}}}, Size(CREATION, 1)),
        ('NODE_CREATE', {**NODE, 'data': {'deletion': {'count': 2}}}, Size(DELETION, 2)),
        (
            'NODE_CREATE',
            {**NODE, 'data': {'creation': {'count': 'x'}, 'deletion': 'x'}},
            Size(CREATION, 1),
        ),
    ],
)
def test_size_is_what_policies_decided_or_else_that_of_the_action(action, more, expected):
    """The data of the reply override the inputs, which the engine follows without a decision."""
    assert size(action, **more) == expected
