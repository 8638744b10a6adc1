"""The command `placement-policy plan`, and the changes that it shows."""

import json
from unittest.mock import Mock

import msgspec
import pytest
import yaml
from msgspec import structs

from placement_worker.cmd import plan as plan_command
from placement_worker.cmd.output import Paint
from placement_worker.cmd.plan import (
    Changes,
    PlaceChange,
    PoolChange,
    SkippedPolicy,
    Victim,
    plan_lines,
)
from placement_worker.contract import codec
from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.model import CheckReply, CheckRequest, Decision
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.planning.sizing import Size
from tests.factories import (
    connected,
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab

CLOUD = {'zones': {'a': True, 'b': True, 'down': False}, 'regions': ['R1', 'R2']}
OUT, IN = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN'
ONE, TWO = {'inputs': {'count': 1}}, {'inputs': {'count': 2}}
ZONES = zone_policy('a', 'b')
GROW = request(OUT, [zone_policy('a', 'b', 'down')], nodes(a=2, b=1), inputs={'count': 3})
SHRINK = request(IN, [ZONES, deletion_policy()], nodes(a=2, b=1), **TWO)
FAILING = request(OUT, [zone_policy('gone')])
IDLE = request('CLUSTER_UPDATE', [zone_policy('a')], nodes(a=1))


@pytest.fixture
def plan(program):
    """Return a function that plans requests over CLOUD."""

    def planned(*requests, options=()):
        text = yaml.safe_dump_all(requests)
        return program('plan', 'f', '--cloud', 'cloud', *options, f=text, cloud=CLOUD)

    return planned


@pytest.mark.parametrize(
    ('asked', 'status', 'text'),
    [
        (GROW, 2, """\
CLUSTER_SCALE_OUT of cluster web, BEFORE: 3 nodes -> 6

Zones:
  + a     2 -> 3  +1
  + b     1 -> 3  +2
    down  0 -> 0         unavailable

Plan: 3 nodes to create. Nothing was done.
"""),
        (SHRINK, 2, """\
CLUSTER_SCALE_IN of cluster web, BEFORE: 3 nodes -> 1

Zones:
  - a  2 -> 0  -2
    b  1 -> 1

To be deleted, in this order:
  - n1  a  oldest in a  ACTIVE
  - n2  a  oldest in a  ACTIVE

Plan: 2 nodes to delete. Nothing was done.
"""),
        (FAILING, 1, """\
Warning: The cloud does not know availability zone "gone"; it has "a", "b", "down"
CLUSTER_SCALE_OUT of cluster web, BEFORE: ERROR
! No availability zone found available.
    unknown_zones: gone
    zones_of_the_cloud: a, b, down
"""),
    ],
    ids=['growth', 'shrinkage', 'failure'],
)  # fmt: skip
def test_plan_shows_the_nodes_of_each_zone_and_the_victims_or_failure(plan, asked, status, text):
    """A plan has the nodes by zone and the victims with reasons; a failure has its details."""
    assert plan(asked) == (status, f'{text}\n', '')


def test_plan_over_regions_has_rows_for_zones_and_for_no_known_place(plan):
    """Zones of regions and nodes in no known place have rows of their own."""
    members = [node(1, 'a', 'R1'), node(2, 'b', 'R2'), node(3)]

    _, out, _ = plan(request(IN, [region_policy('R1', 'R2'), ZONES], members, **TWO))

    assert '  - (no known place)  1 -> 0  -1' in out
    assert '  - R2/b  1 -> 0  -1' in out


@pytest.mark.parametrize('command', ['check', 'plan'])
def test_text_about_many_nodes_is_shortened(program, command):
    """A screen shows twenty nodes and the number of the others; JSON has all."""
    asked = request(IN, [deletion_policy('OLDEST_FIRST')], nodes(a=30), inputs={'count': 23})

    _, out, _ = program(command, 'f', '--cloud', 'cloud', f=asked, cloud=CLOUD)
    _, data, _ = program(command, 'f', '-f', 'json')

    assert 'n20' in out
    assert 'n21' not in out
    assert ' and 3 more' in out
    assert '"n23"' in data


@pytest.mark.parametrize('policies', [[], [deletion_policy()]])
def test_plan_without_placement_policy_counts_nodes_by_place(plan, policies):
    """Without a placement policy, or any policy, the plan still shows the places of the victims."""
    named = {'inputs': {'candidates': ['n2']}}

    status, out, _ = plan(request('CLUSTER_DEL_NODES', policies, nodes(a=2, b=1), **named))

    assert (status, 'Nodes:\n  - a  2 -> 1  -1\n    b  1 -> 1\n' in out) == (2, True)
    assert '  - n2  a  named by the action  ACTIVE\n' in out


@pytest.mark.parametrize(
    ('requests', 'status'),
    [([IDLE], 0), ([IDLE, GROW, IDLE], 2), ([GROW, FAILING, GROW], 1)],
    ids=['idle', 'change', 'failure'],
)
def test_plan_of_several_requests_exits_with_the_most_severe_status(plan, requests, status):
    """A failure outweighs a change, and a change outweighs no change."""
    assert plan(*requests)[0] == status


HEAT = {'type': 'os.heat.stack-1.0'}
PROTECTED = node(1, metadata={'protected': 'true'})
DISABLED = zone_policy('a', enabled=False)
BALANCED = request(OUT, [load_balancing_policy()], target='AFTER', profile=HEAT)
NO_PROFILE = 'does not support profile type os.heat.stack-1.0'
CREATED = 'Plan: 6 nodes to create; no policy placed the nodes: {}. Nothing was done.'
DERIVED = (
    'Plan: 1 node to create; no policy placed the node: NODE_CREATE is a derived action: the '
    'policies decide on the action that it is part of. Nothing was done.'
)
DELETED = (
    'Plan: 1 node to delete; no policy chose the node: the request has no policies. Nothing was '
    'done.'
)
SAME = 'Policies change nothing: {}'


def growing(*policies, **more):
    return request(OUT, policies, nodes(a=2), inputs={'count': 6}, **more)


@pytest.mark.parametrize(
    ('asked', 'last'),
    [
        (growing(zone_policy('a'), profile=HEAT),
         CREATED.format(f'senlin.policy.zone_placement {NO_PROFILE}')),
        (growing(DISABLED), CREATED.format('policy zone_placement is disabled')),
        (growing(), CREATED.format('the request has no policies')),
        (growing(DISABLED, deletion_policy()),
         CREATED.format('policy zone_placement is disabled; senlin.policy.deletion does not handle '
                        'CLUSTER_SCALE_OUT BEFORE')),
        (request('NODE_CREATE', [zone_policy('a')], [node(1)], node=node(9),
                 cause='Derived Action'), DERIVED),
        (request(IN, [], nodes(a=2), **ONE), DELETED),
        (IDLE, SAME.format('senlin.policy.zone_placement does not handle CLUSTER_UPDATE BEFORE')),
        ({**IDLE, 'policies': []}, SAME.format('the request has no policies')),
        (request('CLUSTER_RESIZE', [zone_policy('a')], nodes(a=2)),
         SAME.format('No node is to be created or deleted')),
        (request(IN, [deletion_policy()], [PROTECTED]), SAME.format('All nodes are protected')),
        (BALANCED, SAME.format(f'senlin.policy.loadbalance {NO_PROFILE}')),
        (request(IN, [zone_policy('a', 'b')], nodes(a=2)),
         'Plan: 1 node to delete; no policy chose the node. Nothing was done.'),
    ],
)  # fmt: skip
def test_plan_without_decisions_or_changes_names_the_reason(plan, asked, last):
    """A plan states why no policy decided about the nodes that the engine will change, if any."""
    status, out, _ = plan(asked)

    assert (status, out.splitlines()[-2]) == (2 if last.startswith('Plan: ') else 0, last)


def test_plan_with_malformed_inputs_that_no_policy_reads_warns(plan):
    """Malformed inputs are a warning of the plan if no policy refuses them."""
    _, out, _ = plan(request(OUT, [], nodes(a=2), inputs={'count': 'x'}))

    assert out.startswith('Warning: Expected `int`, got `"x"` - at `$.action.inputs.count`\n')


def test_plan_as_json_contains_the_changes(plan):
    """The data of a plan has the changes, and each skipped policy with its reason."""
    asked = {**SHRINK, 'policies': [*SHRINK['policies'], {**DISABLED, 'id': 'p'}]}
    _, out, _ = plan(asked, options=['-f', 'json'])

    changes = json.loads(out)
    assert (changes['deleted'], changes['is_decided']) == (2, True)
    assert changes['places']['zones'][0] == {'name': 'a', 'before': 2, 'after': 0, 'note': ''}
    victim = {'id': 'n1', 'place': 'a', 'reason': 'oldest in a', 'status': 'ACTIVE'}
    assert changes['victims'][0] == victim
    reason = 'policy zone_placement is disabled'
    assert changes['skipped'] == [{'policy': 'zone_placement', 'reason': reason}]


def test_plan_requests_a_dry_run_with_full_explanation(plan, monkeypatch):
    """The command overrides `dry_run` and `explain` of the request."""
    caller = Mock(side_effect=InvalidRequest('recorded'))
    monkeypatch.setattr(InProcessCaller, 'policy_check', caller)

    plan({**GROW, 'dry_run': False, 'explain': 'none'})

    (asked,) = caller.call_args.args
    assert (asked.dry_run, asked.explain) == (True, 'full')


def lines_of(changes):
    return list(plan_lines(changes, Paint(on=False)))


def test_shown_with_escape_characters_aligns_the_columns():
    """An escape character in a name does not shift the columns."""
    shrinking = Changes(
        IN, 'a1', 'BEFORE', 'web', 'OK', 'done', 3, deleted=2,
        places={'zones': [PlaceChange('a\x1b', 2, 1), PlaceChange('b', 1, 0)]},
        victims=[Victim('n\x1b', 'a', 'oldest'), Victim('n2', 'b', 'oldest')],
    )  # fmt: skip

    assert {
        r'  - a\u001b  2 -> 1  -1',
        '  - b        1 -> 0  -1',
        r'  - n\u001b  a  oldest',
        '  - n2       b  oldest',
    } <= set(lines_of(shrinking))


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


def with_pool(**details):
    change = PoolChange('balanced', {**POOL, **details})
    return Changes(OUT, 'a1', 'AFTER', 'web', 'OK', 'done', size=5, pools=[change])


def test_shown_with_a_pool_lists_members_updates_and_time():
    """A changed pool has its members, updates and time; an unchanged one has no cost."""
    assert with_pool().any
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
    assert with_pool(added=[], removed=['n1']).any
    unchanged = with_pool(added=[], updates=0, estimated_s=0)
    assert not unchanged.any
    assert lines_of(unchanged)[3:-3] == ['    already there: n1', '    failed: n6: no address']


def test_shown_without_a_decision_lists_the_updates_before_the_reasons():
    """The reasons follow all counts of the plan."""
    skipped = [SkippedPolicy('p', 'a'), SkippedPolicy('q', 'b')]
    changes = structs.replace(with_pool(), deleted=2, policies=2, skipped=skipped)

    assert lines_of(changes)[-2] == (
        'Plan: 2 nodes to delete, 2 load-balancer updates; no policy chose the nodes: a; b. '
        'Nothing was done.'
    )


MEMBERS = nodes(a=2, b=2)


def compare(asked, replied):
    return plan_command.compare(
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
    policies = [ZONES] + [region_policy('R1')] * bool(region)
    asked = request(OUT, policies, members, explain='full', **TWO)
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
    asked = request(OUT, [zone_policy('a', 'z')], MEMBERS, explain='full', **ONE)

    zones = compare(asked, check(asked, 'ab')).places['zones']

    assert PlaceChange('a', 2, 3) in zones
    assert [row.note for row in zones if row.name == 'z'] == ['unknown to the cloud']


@pytest.mark.parametrize('policies', [[], [deletion_policy()]])
def test_changes_with_other_victims_than_planned_are_those_of_the_victims(check, policies):
    """If a plugin chooses other victims after zone placement, their places are counted."""
    asked = request(IN, [ZONES, *policies], MEMBERS, explain='full', **TWO)
    deletion = {'count': 2, 'zones': {'a': 1, 'b': 1}, 'candidates': ['n1', 'n2']}

    changes = compare(asked, plugin_wrote(check(asked, 'ab'), deletion=deletion))

    assert changes.places == {'nodes': [PlaceChange('a', 2, 0), PlaceChange('b', 2, 2)]}


NEW_PLACES = {'placements': [{'zone': 'b'}, {'zone': 'new'}]}
ONE_PLACE = [{'region_name': 'R', 'zone': 'b', 'count': 1}]
A, B = ('a', 2, 2), ('b', 2, 2)


@pytest.mark.parametrize(
    ('action', 'data', 'kind', 'expected'),
    [
        (OUT, {'creation': {'count': 2}, 'placement': NEW_PLACES}, 'zones',
         [A, ('b', 2, 3), ('new', 0, 1)]),
        (OUT, {'creation': {'count': 1, 'zones': {'b': 1}}}, 'zones', [A, ('b', 2, 3)]),
        (OUT, {'creation': {'count': 1, 'regions': {'R2': 1}}}, 'regions', [A, B, ('R2', 0, 1)]),
        (IN, {'deletion': {'count': 1, 'zones': {'b': 1}}}, 'zones', [A, ('b', 2, 1)]),
        (IN, {'deletion': {'count': 1, 'places': ONE_PLACE}}, 'zones', [A, B, ('R/b', 0, 0)]),
        (OUT, {'creation': {'count': 1}}, None, []),
    ],
)  # fmt: skip
def test_changes_without_a_placement_policy_are_of_the_data(check, action, data, kind, expected):
    """The plan of a plugin alone is shown by place."""
    asked = request(action, [], MEMBERS)

    changes = compare(asked, plugin_wrote(check(asked), **data))

    assert changes.places == ({kind: [PlaceChange(*row) for row in expected]} if kind else {})


def test_changes_with_details_of_a_plugin_ignore_them(check):
    """The details of a plugin have its own form, also under the names of rows."""
    asked = request(OUT, [zone_policy('a')], MEMBERS, **ONE)
    replied = check(asked, 'ab')
    names = ('zones', 'regions', 'victims', 'protected_nodes')
    own = {
        **replied['decisions'][0],
        'policy_type': 'acme.policy.own-1.0',
        'details': {name: ['a', {'b': 1}] for name in names},
    }

    changes = compare(asked, {**replied, 'decisions': [*replied['decisions'], own]})

    assert changes.places['zones'][0] == PlaceChange('a', 2, 3)


@pytest.mark.parametrize('outcome', ['APPLIED', 'SKIPPED'])
def test_compare_with_a_load_balancing_decision_reads_the_pool(outcome):
    """The change of a pool comes from the decision of the load-balancing policy."""
    kind = 'senlin.policy.loadbalance-1.3'
    decision = Decision('p', None, kind, 500, outcome, 'r', 1.0, POOL)
    action = {'id': 'a', 'data': {'status': 'OK', 'reason': 'r'}}
    reply = {'action': action, 'cluster': None, 'nodes': {}, 'decisions': [decision]}

    changes = compare(IDLE, msgspec.to_builtins(reply))

    assert changes.pools == [PoolChange('p', POOL)] * (outcome == 'APPLIED')
    assert changes.any is (outcome == 'APPLIED')


def test_compare_with_spared_victims_counts_the_places_of_the_others():
    """If a health floor spares victims, the plan by zone is replaced by the actual victims."""
    lab = Lab(description={'zones': {'a': True, 'b': True}})
    placed = [connected(n, data={'placement': {'zone': 'ab'[n % 2]}}) for n in range(1, 5)]
    policy, members = lab.attached(placed, version='1.4', min_online=3)
    policies = [ZONES, deletion_policy(grace_period=9), policy]
    asked = request(IN, policies, members, dry_run=True, **TWO)

    changes = compare(asked, lab.check(asked))

    (rows,) = changes.places.values()
    assert (changes.deleted, changes.wait_s) == (1, 9)
    assert sorted(row.after - row.before for row in rows) == [-1, 0]


def test_compare_a_deletion_has_the_protected_nodes(check):
    """The plan shows the nodes that are protected, with end and reason, and counts the others."""
    members = [*nodes(a=1), node(2, 'a', metadata={'protected': {'until': '9999-12-01'}})]
    members.append(node(3, 'b', metadata={'protected': {'reason': 'batch\x1b job'}}))
    asked = request(IN, [ZONES, deletion_policy()], members, explain='full', **TWO)

    changes = compare(asked, check(asked, 'ab'))

    assert lines_of(changes)[1:] == [
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


NAMED = {'n2': 'named by the action'}
BY_BALANCING = 'chosen by loadbalance: 1 to be removed, in 1 update; nothing was written'
CHOSEN = {'data': {'deletion': {'count': 1, 'candidates': ['n1']}}}


@pytest.mark.parametrize(
    ('action', 'policies', 'more', 'expected'),
    [
        (IN, [], ONE, {'n2': BY_BALANCING}),
        (IN, [deletion_policy()], ONE, {'n1': ''}),
        (IN, [], {**ONE, **CHOSEN}, {'n1': ''}),
        ('CLUSTER_DEL_NODES', [], {'inputs': {'candidates': ['n2']}}, NAMED),
        ('NODE_DELETE', [deletion_policy()], {'node': connected(2)}, NAMED),
    ],
    ids=['load balancing', 'another policy', 'chosen before', 'named', 'node'],
)
def test_reason_of_a_victim_names_what_chose_it(action, policies, more, expected):
    """A reply without ranks does not attribute the choice of a policy to load balancing."""
    lab = Lab()
    policy, members = lab.attached([connected(1), connected(2)])
    asked = request(action, [policy, *policies], members, dry_run=True, **more)

    victims = compare(asked, lab.check(asked)).victims

    assert {victim.id: victim.reason for victim in victims} == expected


RESIZE = {'adjustment_type': 'EXACT_CAPACITY', 'number': 5000}
CREATE = 'NODE_CREATE'


def decided(data):
    return {'node': node(9), 'data': data}


@pytest.mark.parametrize(
    ('action', 'more', 'expected'),
    [
        (OUT, {'inputs': {'count': 6}}, Size(CREATION, 6)),
        (OUT, {}, Size(CREATION, 1)),
        (IN, {'inputs': {'count': 2}}, Size(DELETION, 2)),
        (IN, {'inputs': {'count': 9}}, Size(DELETION, 3)),
        ('CLUSTER_RESIZE', {'inputs': RESIZE}, Size(CREATION, 4997)),
        ('CLUSTER_DEL_NODES', {'inputs': {'candidates': ['n1', 'n2']}}, Size(DELETION, 2)),
        ('CLUSTER_REPLACE_NODES', {'inputs': {'candidates': {'n1': 'n9'}}}, Size(DELETION, 0)),
        ('CLUSTER_DELETE', {}, Size(DELETION, 3)),
        ('CLUSTER_UPDATE', {'inputs': {'name': 'x'}}, Size(CREATION, 0)),
        ('CLUSTER_CREATE', {'desired_capacity': 5}, Size(CREATION, 2)),
        ('CLUSTER_CREATE', {'desired_capacity': 2}, Size(CREATION, 0)),
        (CREATE, decided({'creation': {'count': 4}}), Size(CREATION, 4)),
        (CREATE, decided({'creation': {'zones': {'a': 1}}}), Size(CREATION, 1)),
        (CREATE, decided({'deletion': {'count': 2}}), Size(DELETION, 2)),
        (CREATE, decided({'creation': {'count': 'x'}, 'deletion': 'x'}), Size(CREATION, 1)),
    ],
)
def test_size_is_what_policies_decided_or_else_that_of_the_action(action, more, expected):
    """The data of the reply override the inputs, which the engine follows without a decision."""
    inputs = {key: value for key, value in more.items() if key != 'data'}
    asked = codec.decode(request(action, [], nodes(a=3), **inputs), CheckRequest)

    assert plan_command._size_of(asked, more.get('data', {})) == expected
