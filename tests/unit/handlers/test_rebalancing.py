"""Rebalancing through the endpoints: places, victims, bounds, and the checks of the engine."""

import copy
import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.rpc import Limits
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.planning.places import Cordon
from tests.factories import (
    NOW,
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    rebalance,
    redistributing,
    refused,
    region_policy,
    request,
    spreading,
    zone_policy,
)

ZONES = {'az1': True, 'az2': True, 'az3': True}


@pytest.fixture
def plan(registry):
    def planned(asked, max_nodes=1000, cordons=(), **cloud):
        worker = Endpoints(
            Inventory.parse({'zones': ZONES, **cloud}, 'test'),
            registry,
            WorkerSettings(
                now=lambda: NOW,
                limits=lambda: Limits(max_nodes),
                cordons=lambda _: [Cordon(until=NOW.replace(year=2027), **one) for one in cordons],
            ),
        )
        return worker.policy_rebalance(asked)

    return planned


def moves(reply):
    """Return the place and the id of each victim, and the place of its successor."""
    return [
        (gone['id'], *gone['place'].values(), *new.values())
        for step in reply['steps']
        for gone, new in zip(step['delete'], step['create'], strict=True)
    ]


def after(members, step, number):
    """Return the members after a step; its new nodes have ids of their own."""
    gone = {one['id'] for one in step['delete']}
    new = [
        {
            **node(28, created_at=f'2026-01-28T00:{number:02}:{i:02}Z'),
            'id': f'new{number}-{i}',
            'data': {'placement': place},
        }
        for i, place in enumerate(step['create'])
    ]
    return [one for one in members if one['id'] not in gone] + new


def test_rebalance_names_places_and_the_oldest_victims(plan):
    """A cluster that grew while two zones were down moves its oldest nodes to them."""
    reply = plan(rebalance([zone_policy(*ZONES), deletion_policy()], nodes(az1=6)))

    assert reply['steps'][0]['create'] == [{'zone': 'az2'}]
    assert reply['steps'][0]['delete'] == [
        {'id': 'n1', 'name': None, 'place': {'zone': 'az1'}, 'reason': 'oldest'}
    ]
    assert [
        (row['name'], row['current'], row['ideal'], row['final'], row['note'])
        for row in reply['details']['zones']
    ] == [('az1', 6, 2.0, 2, ''), ('az2', 0, 2.0, 2, ''), ('az3', 0, 2.0, 2, '')]
    assert (reply['status'], reply['reason']) == ('OK', '4 moves in 4 steps')
    to_zones = zip(('n1', 'n2', 'n3', 'n4'), ('az2', 'az3') * 2, strict=True)
    assert moves(reply) == [(name, 'az1', zone) for name, zone in to_zones]
    assert [step['scale_out'] for step in reply['steps']] == [True] * 4
    assert reply['imbalance'] == {'misplaced': 0, 'regions': None, 'zones': 12.0}
    assert reply['steps'][-1]['imbalance']['zones'] == 0


def test_rebalance_of_a_balanced_cluster_has_no_steps(plan):
    """Without a better distribution nothing moves, even at the maximum size."""
    reply = plan(rebalance([zone_policy(*ZONES)], nodes(az1=2, az2=2, az3=1), max_size=5))

    assert (reply['status'], reply['steps']) == ('OK', [])
    assert reply['reason'] == 'No move leads to better counts.'
    assert reply['imbalance']['misplaced'] == 0


def changed(members, *changes):
    """Return the first members with these changes, and the others as they are."""
    changed_first = [{**one, **more} for one, more in zip(members, changes, strict=False)]
    return changed_first + members[len(changes) :]


OLD, YOUNG = {'created_at': '2026-01-01T11:00:00Z'}, {'created_at': '2026-01-01T11:59:00Z'}
NEVER, PROTECTED = {'created_at': None}, {'metadata': {'protected': 'true'}}


@pytest.mark.parametrize(
    ('criteria', 'options', 'changes', 'victims'),
    [
        ('OLDEST_FIRST', {}, [PROTECTED] * 3, ['n4']),
        ('OLDEST_FIRST', {}, [{}, {}, {}, {'status': 'ERROR'}], ['n4', 'n1']),
        ('YOUNGEST_FIRST', {'min_age_s': 3600}, [YOUNG, NEVER, OLD, OLD], ['n2', 'n3']),
    ],
    ids=['protected', 'unhealthy', 'minimum age; a node never created has none'],
)
def test_rebalance_chooses_victims_as_a_deletion_does(plan, criteria, options, changes, victims):
    """Protected and young nodes stay, and unhealthy nodes leave first."""
    members = changed(nodes(az1=4), *changes)
    policies = [zone_policy('az1', 'az2'), deletion_policy(criteria)]

    reply = plan(rebalance(policies, members, options=options))

    assert [one[0] for one in moves(reply)] == victims
    assert (reply['steps'][0]['delete'][0]['reason'] == 'unhealthy') is (len(changes[0]) == 0)


IN_TWO = [zone_policy('az1', 'az2')]
KEEPING = deletion_policy(reduce_desired_capacity=False)
GROWS = (
    'The deletion policy does not reduce the desired capacity: each step increases it; set it to 2 '
    'after the last step'
)
STRICT = spreading(IN_TWO[0], mode='strict')
MAY_REFUSE = (
    'Version 1.1 of senlin.policy.zone_placement with `spread` in mode strict may refuse a '
    'scale-out: use mode best_effort until the last step is done'
)
NO_PLACE = 'The place of 1 node is unknown; not moved: n3'


@pytest.mark.parametrize(
    ('policies', 'members', 'warning'),
    [
        (IN_TWO, [*nodes(az1=1, az2=1), node(3)], NO_PLACE),
        ([*IN_TWO, KEEPING], nodes(az1=2), GROWS),
        ([STRICT], nodes(az1=6), MAY_REFUSE),
    ],
)
def test_rebalance_warns_of_what_its_steps_cannot_do(plan, policies, members, warning):
    """Unknown places, a capacity that grows, and a strict spread are named to the operator."""
    reply = plan(rebalance(policies, members))

    assert reply['warnings'] == [warning]
    assert bool(reply['steps']) is (len(members) != 3)


def test_rebalance_within_its_limits_finds_the_rest_later(plan):
    """A plan ends after `max_moves`, and says how many moves are left."""
    asked = rebalance([zone_policy(*ZONES)], nodes(az1=6), options={'max_moves': 3})

    assert plan(asked)['reason'] == '3 moves in 3 steps; a later rebalance finds 1 more move'


def test_rebalance_omits_moves_below_the_minimum_gain(plan):
    """A move from 51 of 100 nodes to 50 gains 0.04, and is not worth it."""
    zones = ['az1'] * 51 + ['az2'] * 49
    members = [node(i % 28 + 1, zone, id=f'n{i}') for i, zone in enumerate(zones)]
    asked = rebalance([zone_policy('az1', 'az2')], members)

    assert len(plan({**asked, 'options': {'min_gain': 0.04}})['steps']) == 1
    assert plan({**asked, 'options': {'min_gain': 0.05}})['steps'] == []


NO_POLICY = 'No enabled zone or region placement policy applies to the cluster.'
AT_MAX_SIZE = (
    'The cluster has 4 nodes, and its max_size is 4: a rebalance creates nodes before it deletes '
    'others; increase max_size to at least 5'
)
AT_MAX_NODES = (
    'The cluster has 4 nodes, and the maximum number of nodes allowed per cluster is 4: a '
    'rebalance creates nodes before it deletes others'
)
BELOW_MIN_SIZE = (
    'The cluster has 4 nodes, fewer than its min_size (5): the engine would refuse to delete '
    'nodes; scale out first'
)
TWICE = (
    'Policies zone_placement and zone_placement are both of type senlin.policy.zone_placement: '
    'disable or detach one.'
)


@pytest.mark.parametrize(
    ('policies', 'cluster', 'max_nodes', 'reason'),
    [
        (IN_TWO, {'max_size': 4}, 1000, AT_MAX_SIZE),
        (IN_TWO, {}, 4, AT_MAX_NODES),
        (IN_TWO, {'min_size': 5}, 1000, BELOW_MIN_SIZE),
        ([], {}, 1000, NO_POLICY),
        ([zone_policy('az1', enabled=False)], {}, 1000, NO_POLICY),
        ([zone_policy('az1'), {**zone_policy('az2'), 'id': 'other'}], {}, 1000, TWICE),
        ([zone_policy('az9')], {}, 1000, 'No availability zone found available.'),
        ([region_policy('R9')], {}, 1000, 'No region is found usable.'),
    ],
)
def test_rebalance_that_is_impossible_is_an_error(plan, policies, cluster, max_nodes, reason):
    """A cluster without room for another node or without usable places gets the reason."""
    reply = plan(rebalance(policies, nodes(az1=4), **cluster), max_nodes)

    assert (reply['status'], reply['reason'], reply['steps']) == ('ERROR', reason, [])


def test_rebalance_with_little_room_has_smaller_steps(plan):
    """The maximum size limits the surge, with a warning."""
    sizes = {'min_size': 4, 'max_size': 5}
    reply = plan(rebalance(IN_TWO, nodes(az1=4), options={'max_surge': 2}, **sizes))

    assert [len(step['create']) for step in reply['steps']] == [1, 1]
    assert reply['warnings'] == [
        'Each step adds at most 1 node instead of 2: the cluster has 4 nodes, and its maximum size '
        'is 5'
    ]


@pytest.mark.parametrize(
    ('zones', 'cordons', 'members', 'moved'),
    [
        ({**ZONES, 'az2': False}, [], nodes(az1=6, az2=2), {('az1', 'az3'): 3}),
        (ZONES, [{'zone': 'az1'}], nodes(az1=1, az2=1, az3=3), {('az3', 'az2'): 1}),
        (ZONES, [{'zone': 'az1', 'evacuate': True}], nodes(az1=2, az3=2), {('az1', 'az2'): 2}),
    ],
    ids=['unavailable', 'cordoned', 'evacuated'],
)
def test_rebalance_never_creates_in_a_closed_zone(plan, zones, cordons, members, moved):
    """A lost or cordoned zone gets no node; if it is to be evacuated, its nodes leave first."""
    reply = plan(rebalance([zone_policy(*ZONES)], members), cordons=cordons, zones=zones)

    assert Counter(one[1:] for one in moves(reply)) == moved
    assert reply['warnings'] == []


@pytest.mark.parametrize(
    ('cordon', 'policies', 'warnings'),
    [
        ({'zone': 'az1'}, ['zones'], ['Cannot evacuate zone az1']),
        ({'zone': 'az1', 'region': 'R1'}, ['regions', 'zones'], ['Cannot evacuate zone az1']),
        ({'region': 'R1'}, ['regions'], ['Cannot evacuate region R1']),
        ({'zone': 'az2'}, ['zones'], []),
    ],
)
def test_rebalance_that_cannot_empty_a_place_warns_of_protected_nodes(
    plan, cordon, policies, warnings
):
    """An operator who empties a place reads why it is not empty after the last step."""
    kinds = {'regions': region_policy('R1', 'R2'), 'zones': zone_policy(*ZONES)}
    members = [node(1, 'az1', 'R1', **PROTECTED), node(2, 'az1', 'R1')]

    reply = plan(
        rebalance([kinds[one] for one in policies], members),
        cordons=[{**cordon, 'evacuate': True}],
        regions=['R1', 'R2'],
    )

    assert reply['warnings'] == [
        f'{warning}: 1 protected node must not be deleted there' for warning in warnings
    ]


BOTH = [region_policy('R1', 'R2'), zone_policy('az1', 'az2')]
OPEN = {'R1': {'az1': True}, 'R2': {'az1': True, 'az2': True}}
CLOSED = {'zone': 'az1', 'region': 'R2'}
EMPTIED = {'zone': 'az2', 'region': 'R2', 'evacuate': True}
EVERYWHERE = {'zone': 'az2', 'evacuate': True}
IN_AZ1, IN_R2, IN_AZ2 = ('az1', 'R1'), ('az1', 'R2'), ('az2', 'R2')
NOT_AZ1 = {'R1': {'az1': True}, 'R2': {'az1': False, 'az2': True}}
NO_AZ2 = {'R1': {'az1': True}, 'R2': {'az2': False}}


@pytest.mark.parametrize(
    ('regions', 'cordons', 'places', 'moved', 'misplaced'),
    [
        (NOT_AZ1, [EVERYWHERE], [IN_R2, IN_AZ1], [], 0),
        (OPEN, [CLOSED, EMPTIED], [IN_R2, IN_AZ1], [], 0),
        (NO_AZ2, [EVERYWHERE], [IN_AZ2, IN_AZ2, IN_AZ1], ['n1', 'n2'], 2),
        (OPEN, [{'region': 'R2', 'evacuate': True}], [IN_R2, IN_AZ2], ['n1', 'n2'], 2),
        (OPEN, [CLOSED, EMPTIED], [IN_R2, IN_AZ2, IN_AZ1], ['n2'], 1),
        (OPEN, [EMPTIED], [IN_AZ2, (None, 'R2'), (None, None)], ['n1'], 1),
    ],
    ids=[
        'unavailable zone stays', 'cordoned zone stays', 'all zones of a region, available or not',
        'region', 'zone whose region has no room', 'unknown places are not misplaced',
    ],
)  # fmt: skip
def test_rebalance_with_evacuated_places_moves_the_nodes_of_these_places_only(
    plan, regions, cordons, places, moved, misplaced
):
    """Only nodes of evacuated places must leave; they are counted once."""
    cloud = {region: {'zones': zones} for region, zones in regions.items()}
    members = [node(number, *place) for number, place in enumerate(places, start=1)]
    asked = rebalance([*BOTH, deletion_policy()], members)

    reply = plan(asked, cordons=cordons, zones={}, regions=cloud)

    assert [one[0] for one in moves(reply)] == moved
    assert reply['imbalance']['misplaced'] == misplaced
    assert reply['details']['unplaced'] == sum(None in place for place in places)


def test_misplaced_node_above_the_cap_of_its_region_counts_once(plan):
    """A node of an unlisted zone in a region that is over its cap is one misplaced node."""
    regions = {'R1': {'zones': {'az1': True, 'old': True}}, 'R2': {'zones': {'az1': True}}}
    policy = region_policy(('R1', 100, 1), 'R2')
    members = [node(1, 'az1', 'R1'), node(2, 'old', 'R1')]

    reply = plan(rebalance([policy, zone_policy('az1')], members), regions=regions)

    assert reply['imbalance']['misplaced'] == 1
    assert [one[0] for one in moves(reply)] == ['n2']
    assert [row['note'] for row in reply['details']['regions']] == ['over its cap', '']


def test_rebalance_notes_why_a_zone_gets_no_node_and_counts_all_regions(plan):
    """The row of a zone names the cause, and its nodes of all regions count without regions."""
    notes = {
        'az1': '',
        'az2': 'cordoned until 2027-01-01T12:00:00Z',
        'az3': 'cordoned until 2027-01-01T12:00:00Z (move)',
        'az4': 'unavailable',
        'az5': 'unknown to the cloud',
        'az6': 'short of capacity until 2026-01-01T12:04:00Z',
        'old': 'not listed',
        '-': 'no known place',
    }
    listed = [name for name in notes if name.startswith('az')]
    members = [node(1, 'az1', 'R1'), node(2, 'az1', 'R3'), node(3, 'old'), node(4)]
    policies = [redistributing(zone_policy(*listed))]
    known = {name: name != 'az4' for name in listed if name != 'az5'}
    cordons = [{'zone': 'az2'}, {'zone': 'az3', 'reason': 'move', 'evacuate': True}]

    reply = plan(rebalance(policies, [*members, refused(5, 'az6')]), cordons=cordons, zones=known)

    rows = {row['name']: row for row in reply['details']['zones']}
    assert {name: row['note'] for name, row in rows.items()} == notes
    assert [row['current'] for row in rows.values()] == [2, 0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize('zones', [ZONES, {'az1': False}], ids=['planned', 'refused'])
def test_rebalance_with_a_cordon_of_an_unknown_zone_warns_of_it(plan, zones):
    """A misspelled cordon leaves its zone open; the plan and its refusal say so."""
    asked = rebalance([zone_policy('az1')], nodes(az1=2))

    reply = plan(asked, cordons=[{'zone': 'aaz1'}], zones=zones)

    assert reply['status'] == ('OK' if zones == ZONES else 'ERROR')
    assert reply['warnings'][-1].startswith(
        'The cordon of zone aaz1 has no effect in the home region: there is no such zone (did you '
        'mean "az1"?)'
    )


def test_rebalance_moves_nodes_out_of_unlisted_zones_first(plan):
    """Nodes in a zone that the policy does not list leave, whatever the minimum gain is."""
    reply = plan(rebalance(IN_TWO, nodes(az1=2, az2=1, az3=1), options={'min_gain': 9}))

    assert moves(reply) == [('n4', 'az3', 'az2')]
    assert reply['imbalance']['misplaced'] == 1
    assert reply['steps'][0]['imbalance']['misplaced'] == 0


def test_rebalance_step_names_pools_and_the_grace_period(plan):
    """The engine's checks add and remove members, and it waits before it deletes nodes."""
    policies = [*IN_TWO, deletion_policy(grace_period=60), load_balancing_policy()]

    (step,) = plan(rebalance(policies, nodes(az1=2)))['steps']

    assert (step['load_balancing'], step['grace_period']) == (['pol-loadbalance'], 60)


def test_rebalance_over_regions_moves_between_them_first(plan):
    """A node goes to the emptier region and its emptier zone; then zones are balanced."""
    regions = {'R1': {'zones': ZONES}, 'R2': {'zones': ZONES}}
    members = [node(i, 'az1', 'R1') for i in range(1, 5)]
    members += [node(i, 'az1', 'R2') for i in range(5, 7)]

    reply = plan(rebalance(BOTH, members), zones={}, regions=regions)

    assert [one[1:] for one in moves(reply)] == [
        ('R1', 'az1', 'R2', 'az2'),
        ('R1', 'az1', 'R1', 'az2'),
    ]
    assert [row['final'] for row in reply['details']['regions']] == [3, 3]
    assert [row['region_name'] for row in reply['details']['zones']] == ['R1', 'R1', 'R2', 'R2']


def test_rebalance_does_not_divide_a_region_without_a_listed_zone(plan):
    """The nodes of such a region have one row, whatever their zones are, and none is unplaced."""
    regions = {'R1': {'zones': {'az1': True}}, 'R2': {'zones': {'q': True}}}
    members = [node(1, 'az1', 'R1'), node(2, 'q', 'R2'), node(3, None, 'R2')]

    reply = plan(
        rebalance([region_policy('R1', 'R2'), zone_policy('az1')], members), regions=regions
    )

    rows = [(row['region_name'], row['name'], row['current']) for row in reply['details']['zones']]
    assert rows == [('R1', 'az1', 1), ('R2', '-', 2)]
    assert (reply['details']['unplaced'], reply['imbalance']['misplaced']) == (0, 0)


def test_node_that_left_its_region_breaks_no_tie_of_the_zones(plan):
    """Of two equal zones, the one with the next victim among the remaining nodes gives it."""
    regions = {'R1': {'zones': ZONES}, 'R2': {'zones': ZONES}}
    policies = [
        region_policy('R1', 'R2'),
        zone_policy(('az1', 100), ('az2', 100), ('az3', 200)),
        deletion_policy('OLDEST_FIRST'),
    ]
    members = [node(1, 'az1', 'R1'), node(2, 'az2', 'R1'), node(3, 'az1', 'R1')]

    reply = plan(rebalance(policies, members), zones={}, regions=regions)

    assert [one['id'] for step in reply['steps'] for one in step['delete']] == ['n1', 'n2']


@pytest.mark.parametrize(
    ('updated_at', 'moved'),
    [('2026-01-01T11:59:00Z', {('az1', 'az3'): 3}), ('2026-01-01T11:00:00Z', {('az1', 'az2'): 1})],
)
def test_rebalance_to_a_zone_short_of_capacity_is_one_probe_after_the_delay(
    plan, updated_at, moved
):
    """A zone that refused a node gets none, later one, and the plan ends with that probe."""
    members = [*nodes(az1=6), refused(7, 'az2', updated_at=updated_at)]

    reply = plan(rebalance([redistributing(zone_policy(*ZONES))], members))

    assert Counter(one[1:] for one in moves(reply)) == moved
    assert [row['current'] for row in reply['details']['zones']] == [6, 0, 0]


@st.composite
def clusters(draw, shortages=True):
    """Draw the policies, the members and the options of a cluster in one or two regions."""
    by_region = draw(st.booleans())
    weights = st.sampled_from([50, 100, 200])
    listed = ['az1', 'az2'] if draw(st.booleans()) else ['az1', 'az2', 'az3']
    policies = [zone_policy(*((zone, draw(weights)) for zone in listed)), deletion_policy()]
    if by_region:
        capped = 'R1', draw(weights), draw(st.sampled_from([-1, 3, 5]))
        policies.append(region_policy(capped, ('R2', draw(weights))))
    members = []
    for i in range(1, draw(st.integers(0, 10)) + 1):
        zone = draw(st.sampled_from(['az1', 'az1', 'az2', 'az3', None]))
        region = draw(REGION) if by_region else None
        one = node(i, zone, region, status=draw(st.sampled_from(['ACTIVE', 'ACTIVE', 'ERROR'])))
        one['created_at'] = draw(st.sampled_from(['2026-01-01T00:00:00Z', '2026-01-01T11:59:00Z']))
        if draw(st.integers(0, 3)) == 0:
            one['metadata'] = {'protected': 'true'}
        members.append(one)
    policies[1]['spec']['properties']['criteria'] = draw(st.sampled_from(CRITERIA))
    if shortages and draw(st.booleans()):
        policies = [one if one['id'] == 'pol-deletion' else redistributing(one) for one in policies]
        region = draw(REGION) if by_region else None
        members += [
            refused(20 + i, draw(ZONE), region, draw(st.sampled_from([1, 30])))
            for i in range(draw(st.integers(0, 2)))
        ]
    options = {
        'max_surge': draw(st.integers(1, 3)),
        'min_age_s': draw(st.sampled_from([0, 0, 3600])),
    }
    return rebalance(policies, members, options=options)


ZONE, REGION = st.sampled_from(['az1', 'az2']), st.sampled_from(['R1', 'R1', 'R2'])
CRITERIA = ['RANDOM', 'OLDEST_FIRST', 'YOUNGEST_FIRST']
CLOUD = {'zones': {}, 'regions': {'R1': {'zones': ZONES}, 'R2': {'zones': ZONES}}}
CLOUD_OF_ONE = {'zones': ZONES}


@pytest.fixture(scope='module')
def worker_for(registry):
    """Return a function that creates a worker over the regions, or the zones, of a request."""

    def worker(asked):
        cloud = CLOUD if len(asked['policies']) == 3 else CLOUD_OF_ONE
        return Endpoints(Inventory.parse(cloud, 'test'), registry, WorkerSettings(now=lambda: NOW))

    return worker


@given(asked=clusters())
def test_each_step_is_a_scale_out_that_the_checks_of_the_engine_place_there(asked, worker_for):
    """A scale-out by the size of a step goes to its places, and its victims may be deleted."""
    worker = worker_for(asked)
    members = copy.deepcopy(asked['cluster']['nodes'])
    for number, step in enumerate(worker.policy_rebalance(asked)['steps']):
        count = len(step['create'])
        grown = worker.policy_check(
            request('CLUSTER_SCALE_OUT', asked['policies'], members, inputs={'count': count})
        )['action']['data']
        placed = Counter(
            (one.get('region_name'), one['zone'])
            for one in grown.get('placement', {}).get('placements', ())
        )
        wanted = Counter((one.get('region_name'), one['zone']) for one in step['create'])
        assert (placed == wanted) is step['scale_out']

        victims = [one['id'] for one in step['delete']]
        members += after([], step, number)
        shrunk = worker.policy_check(
            request('CLUSTER_DEL_NODES', asked['policies'], members, inputs={'candidates': victims})
        )['action']['data']
        assert (shrunk['status'], shrunk['deletion']['candidates']) == ('OK', victims)
        members = [one for one in members if one['id'] not in victims]


@given(asked=clusters())
def test_no_step_names_a_protected_or_young_node_or_exceeds_the_surge(asked, worker_for):
    """No victim is protected or below the minimum age, and none is named twice."""
    worker = worker_for(asked)
    by_id = {one['id']: one for one in asked['cluster']['nodes']}

    steps = worker.policy_rebalance(asked)['steps']

    victims = [by_id[one['id']] for step in steps for one in step['delete']]
    assert all('metadata' not in one for one in victims)
    if asked['options']['min_age_s']:
        assert all('T00:' in one['created_at'] for one in victims)
    assert len({one['id'] for one in victims}) == len(victims)
    assert all(len(step['create']) <= asked['options']['max_surge'] for step in steps)


@given(asked=clusters(shortages=False))
def test_a_rebalance_carried_out_halfway_continues_with_the_rest(asked, worker_for):
    """After each step, another rebalance plans the remaining steps, with the same victims."""
    # Of equally good places it may prefer another one, since new nodes have become victims, too.
    worker = worker_for(asked)
    steps = worker.policy_rebalance(asked)['steps']
    distances = []
    for number, step in enumerate(steps):
        members = after(asked['cluster']['nodes'], step, number)
        asked = {**asked, 'cluster': {**asked['cluster'], 'nodes': members}}
        reply = worker.policy_rebalance(asked)
        distances.append(tuple(reply['imbalance'].values()))
        rest = [(one['delete'], one['imbalance']) for one in reply['steps']]
        assert rest == [(one['delete'], one['imbalance']) for one in steps[number + 1 :]]

    assert all(later < earlier for earlier, later in itertools.pairwise(distances))


def test_region_has_as_much_room_as_its_zones(plan):
    """A region whose open zone is short of capacity takes no node, though it has no cap."""
    regions = {'R1': {'zones': {'az1': True}}, 'R2': {'zones': {'az1': True}}}
    members = [*(node(n, 'az1', 'R1') for n in (1, 2, 3, 4)), refused(5, 'az1', 'R2')]
    policies = [region_policy('R1', 'R2'), redistributing(zone_policy('az1'))]

    reply = plan(rebalance(policies, members), regions=regions)

    assert (reply['status'], moves(reply)) == ('OK', [])
