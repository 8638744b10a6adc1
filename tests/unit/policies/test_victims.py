"""Victims: named ones, those of an earlier policy or a plan by place, and those by criteria."""

import datetime
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.factories import NOW, deletion_policy, node, nodes, region_policy, request, zone_policy
from tests.unit.policies.strategies import members_in

SCALE_IN = 'CLUSTER_SCALE_IN'
OLDEST = [deletion_policy()]
BY_ZONE = [zone_policy('a', 'b'), deletion_policy()]
EARLIER = 'chosen by an earlier policy'


def deleted(reply):
    return reply['action']['data']['deletion']['candidates']


def test_full_explanation_ranks_each_victim_and_shows_the_first_spared(check):
    """A full explanation ranks all victims and the next nodes, each with its reason."""
    sick, new = node(2, 'b', status='ERROR'), node(4, 'b', created_at=None)
    members = [node(1, 'a'), sick, node(3, 'a'), new]

    reply = check(request(SCALE_IN, BY_ZONE, members, inputs={'count': 3}, explain='full'), 'ab')

    keys = 'rank', 'id', 'place', 'reason', 'status', 'tainted'
    details = reply['decisions'][1]['details']
    assert details['reasons'] == {'never created': 1, 'oldest': 1, 'unhealthy': 1}
    assert details['victims'] == [
        dict(zip(keys, (1, 'n2', 'b', 'unhealthy', 'ERROR', False), strict=True)),
        dict(zip(keys, (2, 'n4', 'b', 'never created', 'ACTIVE', False), strict=True)),
        dict(zip(keys, (3, 'n1', 'a', 'oldest in a', 'ACTIVE', False), strict=True)),
    ]
    spared = dict(zip(keys, (4, 'n3', 'a', 'oldest', 'ACTIVE', False), strict=True))
    assert details['spared'] == [spared]


def test_candidates_of_an_earlier_policy_are_kept_and_filled_up(check):
    """Nodes that an earlier policy chose come first; the criteria choose the rest of `count`."""
    data = {'deletion': {'candidates': ['n4', 'n2'], 'count': 4}}

    reply = check(request(SCALE_IN, OLDEST, nodes(a=5), data=data, explain='full'))

    details = reply['decisions'][0]['details']
    ranked = [(row['rank'], row['id']) for row in (*details['victims'], *details['spared'])]
    assert deleted(reply) == ['n4', 'n2', 'n1', 'n3']
    assert details['reasons'] == {EARLIER: 2, 'oldest': 2}
    assert ranked == [*enumerate(['n4', 'n2', 'n1', 'n3', 'n5'], 1)]
    assert [row['reason'] for row in details['victims']][:2] == [EARLIER] * 2


LONG, SHORT = 'k' * 1_000_000, 'k' * 80 + '...'
AT = '$.action.data.deletion'


@pytest.mark.parametrize(
    ('deletion', 'reason'),
    [
        ({'zones': {LONG: 1}}, f'1 node is to leave {SHORT}, which holds 0.'),
        ({'zones': {LONG: -1}}, f'Expected `int` >= 0, got `-1` - at `{AT}.zones.{SHORT}`'),
        ({'count': 2, 'zones': {'a': 3}},
         f'Expected a plan for at most 2 nodes, got one for 3 - at `{AT}`'),
        ({'places': [{'region_name': LONG, 'zone': LONG, 'count': 1}]},
         f'1 node is to leave {SHORT} / {SHORT}, which holds 0.'),
    ],
    ids=['zones', 'malformed zones', 'too many', 'places'],
)  # fmt: skip
def test_plan_that_cannot_be_carried_out_has_a_short_reason(check, deletion, reason):
    """A name of a megabyte that an engine sends does not fill the log and the reply."""
    reply = check(request(SCALE_IN, OLDEST, nodes(a=1), data={'deletion': deletion}))

    assert reply['action']['data']['reason'] == reason


REGIONS = {name: {'zones': dict.fromkeys('abc', True)} for name in ('R1', 'R2')}
CAPPED = region_policy(('R1', 100, 1), ('R2', 200))
POLICIES = {
    'zones': [zone_policy('a', 'b', 'c')],
    'regions': [region_policy('R1', 'R2')],
    'both': [region_policy('R1', 'R2'), zone_policy('a', 'b', 'c')],
    'capped': [CAPPED, zone_policy('a', ('b', 300), 'c')],
}
HEALTHS = [{}, {}, {}, {'status': 'ERROR'}, {'tainted': True}, {'created_at': None}]
PROTECTED = {'metadata': {'protected': 'true'}}


def group(one):
    """Return the group in which a node leaves: 0 unhealthy, 1 never created, 2 healthy."""
    if one['status'] == 'ERROR' or one.get('tainted'):
        return 0
    return 2 if one['created_at'] else 1


def place(one):
    placement = one['data'].get('placement', {})
    return placement.get('region_name'), placement.get('zone')


@st.composite
def shrinking(draw):
    """Draw a request that removes nodes, the nodes that it names, and how many it asks for."""
    places = ['a', 'b', 'x', None], ['R1', 'R2', 'RX', None]
    nodes = draw(members_in(*places, [*HEALTHS, PROTECTED]))
    free = [one['id'] for one in nodes if 'metadata' not in one]
    named = draw(st.lists(st.sampled_from(free), unique=True)) if free else []
    asked = min(len(named) + draw(st.integers(0, 3)), len(nodes)) or 1
    form = draw(st.sampled_from(['data', 'data and count', 'inputs', 'resize', 'resize by name']))
    action = 'CLUSTER_RESIZE'
    if form.startswith('data'):
        count = {'count': asked} if form == 'data and count' else {}
        body = {'data': {'deletion': {**({'candidates': named} if named else {}), **count}}}
        action = draw(st.sampled_from([SCALE_IN, 'CLUSTER_RESIZE']))
        asked = asked if count else len(named) or 1
    elif form == 'inputs':
        action, body, named = SCALE_IN, {'inputs': {'count': asked}}, []
    elif form == 'resize':
        inputs = {'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -asked}
        body = {'inputs': {**inputs, **({'candidates': named} if named else {})}}
    else:
        named = named or free[:1]
        body, asked = {'inputs': {'candidates': named}}, len(named)
    criteria = draw(st.sampled_from(['OLDEST_FIRST', 'RANDOM', 'YOUNGEST_FIRST']))
    policies = [*POLICIES[draw(st.sampled_from([*POLICIES]))], deletion_policy(criteria)]
    return request(action, policies, nodes, **body), named, asked


@settings(max_examples=6 * settings.default.max_examples)
@given(shrinking())
def test_plan_by_place_counts_each_victim_in_its_place(check, problem):
    """Zones, regions and places of a reply count its candidates, which are as many as possible.

    No node that the policies choose leaves while one of an earlier group stays.
    """
    asked, named, number = problem
    nodes = {one['id']: one for one in asked['cluster']['nodes']}
    if not number:
        return

    reply = check(asked, regions=REGIONS)

    data = reply['action']['data']
    assert data['status'] == 'OK', data
    deletion = data.get('deletion', {})
    victims = deletion.get('candidates', [])
    free = sum('metadata' not in one for one in nodes.values())
    assert len(victims) == min(number, free)
    is_warned = any('can be deleted' in text for text in reply['warnings'])
    assert is_warned == (len(victims) < number)
    if not free:
        return
    assert deletion['count'] == len(victims)
    assert victims[: len(named)] == named
    rest = [group(nodes[name]) for name in victims[len(named) :]]
    assert rest == sorted(rest)
    free_staying = [
        group(one) for one in nodes.values() if one['id'] not in victims and 'metadata' not in one
    ]
    assert max(rest, default=0) <= min(free_staying, default=2)
    where = [place(nodes[name]) for name in victims]
    if 'regions' in deletion:
        assert deletion['regions'] == Counter(region for region, _ in where if region)
    if 'places' in deletion:
        planned = {
            (one['region_name'], one.get('zone')): one['count'] for one in deletion['places']
        }
        held = Counter(one for one in where if one in planned)
        assert planned == {key: count for key, count in held.items() if count} | {
            key: count for key, count in planned.items() if key[1] is None
        }
    if 'zones' in deletion and 'regions' not in deletion:
        assert deletion['zones'] == Counter(zone for _, zone in where if zone)


@pytest.mark.parametrize(
    ('deletion', 'inputs', 'zones', 'victims'),
    [
        ({'count': 1, 'zones': {'b': 1}}, {'candidates': ['n1']}, {'a': 1}, ['n1']),
        ({'count': 1, 'candidates': ['n1', 'n2'], 'zone': {'a': 1}}, {}, {'a': 2}, ['n1', 'n2']),
        ({'count': 2, 'candidates': ['n3'], 'zones': {'a': 1}}, {}, {'a': 1, 'b': 1}, ['n3', 'n1']),
        ({'candidates': []}, {'candidates': ['n1']}, None, ['n1']),
        ({'candidates': ['n2']}, {'candidates': ['n1', 'n3']}, None, ['n2']),
        ({}, {'candidates': [], 'count': 1}, None, ['n1']),
    ],
    ids=[
        *('named elsewhere', 'more names than planned', 'another place', 'an empty list'),
        *('chosen earlier', 'no names'),
    ],
)
def test_plan_of_an_engine_follows_the_named_nodes(check, deletion, inputs, zones, victims):
    """Zones that an engine planned are replaced by those of the nodes that are named."""
    more = {'inputs': inputs, 'data': {'deletion': deletion}}

    reply = check(request(SCALE_IN, OLDEST if zones else BY_ZONE, nodes(a=2, b=1), **more), 'ab')

    found = reply['action']['data']['deletion']
    assert (found['candidates'], 'zone' in found) == (victims, False)
    assert found['zones'] == (zones or {'a': 1})


OVER_REGIONS = {
    'R1': {'zones': {'a': True, 'b': False}},
    'R2': {'zones': {'a': True, 'c': True}},
    'R3': {'zones': {'q': True}},
}
BY_BOTH = [region_policy('R2'), zone_policy('a', 'c'), *OLDEST]
IN_ZONES = [*nodes(a=2), node(3), node(4, status='ERROR')]
IN_R2 = [node(1, 'a', 'R2'), node(2, 'c', 'R2'), node(3, None, 'R2')]


@pytest.mark.parametrize(
    ('policies', 'cluster', 'reasons'),
    [
        ([zone_policy('a'), *OLDEST], IN_ZONES, ['unhealthy', 'place unknown']),
        (BY_BOTH, IN_R2, ['place unknown', 'oldest in R2/a']),
    ],
    ids=['by zone', 'by both'],
)
def test_victims_of_unknown_place_have_that_reason_unless_unhealthy(
    check, policies, cluster, reasons
):
    """A healthy victim that a plan takes because its place is unknown has that reason."""
    asked = request(SCALE_IN, policies, cluster, inputs={'count': 2}, explain='full')

    reply = check(asked, 'a', OVER_REGIONS)

    assert [one['reason'] for one in reply['decisions'][-1]['details']['victims']] == reasons


OLD, NEW = '2026-01-01T00:00:00Z', '2026-06-01T00:00:00Z'


def member(number, placement, **more):
    return node(1, data={'placement': placement}) | {'id': f'n{number}', 'index': number, **more}


def rounds(check, policy, key, names, size, grow='CLUSTER_SCALE_OUT'):
    """Return the number of rounds of growth and shrinkage until each node is replaced, or None."""
    policies = [policy, deletion_policy('OLDEST_PROFILE_FIRST')]
    order = [names[i % len(names)] for i in range(size)]
    members = [member(i, {key: name}, profile_created_at=OLD) for i, name in enumerate(order)]
    old = {one['id'] for one in members}
    for number in range(size + 1, 5 * size + 10):
        more = {'node': member(number, {}, created_at=None)} if grow == 'NODE_CREATE' else {}
        reply = check(request(grow, policies, members, **more), names, names)
        (entry,) = reply['action']['data']['placement']['placements']
        at = (NOW + datetime.timedelta(minutes=number)).isoformat()
        placed = {key: entry[key]}
        members.append(member(number, placed, created_at=at, profile_created_at=NEW))
        victims = deleted(check(request(SCALE_IN, policies, members), names, names))
        members = [one for one in members if one['id'] not in victims]
        if old.isdisjoint(one['id'] for one in members):
            return number - size
    return None


@pytest.mark.parametrize('grow', ['CLUSTER_SCALE_OUT', 'NODE_CREATE'])
@pytest.mark.parametrize('number', [1, 2, 3, 4, 5])
@pytest.mark.parametrize('size', [1, 2, 5, 7, 12])
def test_update_one_by_one_takes_a_round_for_each_old_node(check, number, size, grow):
    """No round deletes a new node, however the old nodes are spread over equal places."""
    names = 'abcde'[:number]

    assert rounds(check, zone_policy(*names), 'zone', names, size, grow) == size
    if grow == 'CLUSTER_SCALE_OUT':
        assert rounds(check, region_policy(*names), 'region_name', names, size) == size
