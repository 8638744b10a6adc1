"""Zone and region placement, checked through the chain."""

import pytest

from placement_worker.contract.action_data import CREATION, DELETION
from placement_worker.contract.rpc import Limits
from placement_worker.handlers.service import WorkerSettings
from placement_worker.planning.sizing import Size
from placement_worker.policies.shared_placement import summary
from tests.factories import deletion_policy, node, nodes, region_policy, request, zone_policy

OUT, IN, NEW = 'CLUSTER_SCALE_OUT', 'CLUSTER_SCALE_IN', 'NODE_CREATE'
ZONES, REGIONS = zone_policy('a', 'b'), region_policy('R1', 'R2')
A = zone_policy('a')
BOTH = [REGIONS, ZONES]
NO_ZONES = {'R1': {'zones': {'q': True}}, 'R2': {'zones': {'a': False}}}
R2_IS_OUT = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'a': False, 'q': True}}}
ONE_ZONE_EACH = {'R1': {'zones': {'a': True}}, 'R2': {'zones': {'b': True}}}
INFEASIBLE = 'There is no feasible plan to handle all nodes.'
NO_ZONE = 'No availability zone found available.'
OK = {'status': 'OK', 'reason': 'Completed policy checking.'}


def profile(region=None, zone=None):
    properties = {'availability_zone': zone, 'context': {'region_name': region}}
    return {'type': 'os.nova.server-1.0', 'properties': properties}


def capped(*caps):
    """Return region placement with a cap for each region, from R1 on."""
    return region_policy(*((f'R{number}', 100, cap) for number, cap in enumerate(caps, start=1)))


def regional(**counts):
    named = [region for region, count in counts.items() for _ in range(count)]
    return [node(number, None, region) for number, region in enumerate(named, start=1)]


def rows(reply, key, *columns, number=0):
    found = reply['decisions'][number]['details'][key]
    return [tuple(row[column] for column in columns) for row in found]


def created(reply):
    assert reply['action']['data']['status'] == 'OK', reply['action']['data']['reason']
    return reply['action']['data']['creation']


def test_details_have_a_row_per_listed_and_unlisted_zone(check):
    """The details show each zone with its counts, its ideal share and a note."""
    asked = request(OUT, [zone_policy('a', ('b', 200))], nodes(a=1, x=1), inputs={'count': 2})

    reply = check(asked, zones={'a': True, 'b': False})

    (decision,) = reply['decisions']
    keys = 'name', 'weight', 'cap', 'usable', 'current', 'ideal', 'planned', 'final', 'note'
    assert (decision['reason'], decision['details']['unplaced']) == ('2 nodes go to 1 zone', 0)
    assert [tuple(row) for row in decision['details']['zones']] == [keys] * 3
    assert rows(reply, 'zones', *keys) == [
        ('a', 100, -1, True, 1, 3.0, 2, 3, ''),
        ('b', 200, -1, False, 0, 0.0, 0, 0, 'unavailable'),
        ('x', 0, -1, False, 1, 0.0, 0, 1, 'not listed'),
    ]


ON_A_HOST = [node(1, 'a:host1'), node(2, 'b'), node(3, 'b')]
NO_REGION = [*regional(R1=2), node(3, 'a')]
AT_HOME = [*nodes(a=2), *(node(n, 'a', 'R2') for n in (3, 4, 5))]
HOME = {'regions': ['R1', 'R2'], 'home_region': 'R1'}
NO_PLACE = {'regions': {}, 'zones': {}, 'places': []}


@pytest.mark.parametrize(
    ('policies', 'members', 'cloud', 'deletion'),
    [
        # A node that was created on a named host of a zone is in that zone.
        ([ZONES], ON_A_HOST, {'zones': ['a', 'b']}, {'zones': {'b': 1}}),
        # Nodes of unknown region leave before a plan by region takes any.
        ([region_policy('R1'), ZONES], NO_REGION, {'regions': ONE_ZONE_EACH}, NO_PLACE),
        # Nodes of the home region are not deleted before nodes that the policy placed elsewhere.
        ([REGIONS], AT_HOME, HOME, {'regions': {'R2': 1}}),
    ],
    ids=['host', 'unknown region', 'home region'],
)
def test_deletion_counts_the_nodes_of_each_place(check, policies, members, cloud, deletion):
    """A deletion follows the places of the nodes as the cloud has them now."""
    reply = check(request(IN, policies, members), **cloud)

    assert reply['action']['data']['deletion'] == {'count': 1, **deletion}


def test_node_create_records_the_zone_and_keeps_other_data(check):
    """A new node's data get the zone; other keys of the data stay."""
    new = node(9, data={'placement': {'servergroup': 'g1'}, 'other': 1}, status='INIT')

    reply = check(request(NEW, [ZONES], [*nodes(a=1), new], node=new), zones=['a', 'b'])

    assert created(reply) == {'count': 1, 'zones': {'b': 1}}
    placed = {'placement': {'servergroup': 'g1', 'zone': 'b'}, 'other': 1}
    assert reply['nodes'] == {'n9': {'data': placed}}


def test_earlier_plan_is_replaced_and_unknown_keys_stay(check):
    """A new plan replaces all keys of an earlier one; other keys stay."""
    old = {
        'zones': {'old': 2},
        'region': {'old': 2},
        'places': [{'region_name': 'old', 'count': 2}],
    }
    placement = {'placements': [{'zone': 'old', 'servergroup': 'g'}, 7], 'kept': 2}
    data = {'creation': {'count': 2, **old, 'kept': 1}, 'placement': placement}
    policies = [region_policy('R1'), A]

    reply = check(request(OUT, policies, data=data), regions=ONE_ZONE_EACH)

    placed = {'region_name': 'R1', 'zone': 'a'}
    assert created(reply) == {
        'count': 2,
        'kept': 1,
        'regions': {'R1': 2},
        'zones': {'a': 2},
        'places': [{**placed, 'count': 2}],
    }
    placements = [{'servergroup': 'g', **placed}, placed]
    assert reply['action']['data']['placement'] == {'count': 2, 'placements': placements, 'kept': 2}
    assert reply['nodes'] == {}


def resized(number, **more):
    kind = 'EXACT_CAPACITY' if number > 5 else 'CHANGE_IN_CAPACITY'
    return {'adjustment_type': kind, 'number': number, **more}


OF_6, OF_4 = (f"; limited to {size} in all by the cluster's max_size" for size in (6, 4))
LIMITED_TO_6 = "; limited to 6 in all by the request's max_size"
LIMITED_TO_3 = "; limited to 3 in all by the cluster's min_size"
OF_REQUEST = "; limited to 3 in all by the request's min_size"
STAYS = 'The cluster does not shrink'
NOTHING, CHOSEN = 'No node is to be created or deleted', 'Candidates generated'


@pytest.mark.parametrize(
    ('inputs', 'bounds', 'reasons'),
    [
        (resized(50), {'max_size': 6}, ['2 nodes go to 1 zone' + OF_6, STAYS + '.']),
        (resized(-4, min_size=3), {}, ['1 node leaves 1 zone' + OF_REQUEST, CHOSEN]),
        (resized(50, max_size=6), {}, ['2 nodes go to 1 zone' + LIMITED_TO_6, STAYS + '.']),
        (resized(-4), {'min_size': 3}, ['1 node leaves 1 zone' + LIMITED_TO_3, CHOSEN]),
        (resized(1), {'max_size': 4}, [NOTHING + OF_4, STAYS + OF_4]),
        (resized(6), {'max_size': 6}, ['2 nodes go to 1 zone', STAYS + '.']),
    ],
)
def test_reasons_of_a_resize_name_the_bound_that_limits_it(check, inputs, bounds, reasons):
    """The reasons name the bound that limits a resize, and whether cluster or request set it."""
    policies = [A, deletion_policy()]

    reply = check(request('CLUSTER_RESIZE', policies, nodes(a=4), inputs=inputs, **bounds), 'a')

    assert [decision['reason'] for decision in reply['decisions']] == reasons
    assert 'limited' not in reply['action']['data']['reason']


IN_BOTH = {'regions': {'R1': 1, 'R2': 1}}


@pytest.mark.parametrize(
    ('policies', 'members', 'count', 'more', 'cloud', 'creation'),
    [
        # Without region placement, the zones are those of the region in the cluster's profile.
        ([ZONES], [], 1, {'profile': profile('R2')}, ONE_ZONE_EACH, {'zones': {'b': 1}}),
        # Nodes that precede the policy count towards the cap of their region.
        ([capped(4, -1)], nodes(az2=4), 2, {}, ['R1', 'R2'], {'regions': {'R2': 2}}),
        # A region without an available listed zone gets no node.
        (BOTH, regional(R1=1), 3, {}, R2_IS_OUT, {'regions': {'R1': 3}, 'zones': {'a': 2, 'b': 1}}),
        # Zones do not matter to region placement unless zone placement is bound, enabled, and
        # supports the profile type.
        ([REGIONS], [], 2, {}, R2_IS_OUT, IN_BOTH),
        ([REGIONS, {**ZONES, 'enabled': False}], [], 2, {}, R2_IS_OUT, IN_BOTH),
        (BOTH, [], 2, {'profile': {'type': 'os.heat.stack-1.0'}}, R2_IS_OUT, IN_BOTH),
    ],
    ids=['profile', 'old nodes', 'no zone', 'alone', 'disabled', 'other profile'],
)
def test_creation_is_planned_over_regions_and_their_zones(
    check, policies, members, count, more, cloud, creation
):
    """Each region gets its share if a node can be created there."""
    asked = request(OUT, policies, members, inputs={'count': count}, **more)

    found = created(check(asked, regions=cloud, home_region='R1'))

    assert {key: found[key] for key in creation} == creation


def test_creation_whose_checked_regions_are_full_has_no_feasible_plan(check):
    """The share of a region without usable zones does not exceed the caps of the others."""
    reply = check(request(OUT, [capped(2, -1), ZONES], inputs={'count': 3}), regions=R2_IS_OUT)

    assert reply['action']['data'] == {'status': 'ERROR', 'reason': INFEASIBLE}
    details = reply['decisions'][0]['details']
    assert (details['asked'], details['possible'], details['missing']) == (3, 2, 1)
    assert rows(reply, 'places', 'name', 'current', 'cap', 'possible', 'note') == [
        ('R1', 0, 2, 2, ''),
        ('R2', 0, -1, 0, 'no usable zone'),
    ]


UNKNOWN = 'The cloud does not know '
UNKNOWN_ZONE = f'{UNKNOWN}availability zone "gone"; it has "a", "b", "q"'
UNKNOWN_B = f'{UNKNOWN}availability zone "b"; it has "a", "q"'
UNKNOWN_R1 = f'{UNKNOWN}region "R1"; it has "R9"'
# The prescribed reason hides the numbers, so a warning has them.
ASKED_20 = 'The action asks to remove 20 nodes, but the placement policy finds 3'
NOT_THREE = 'Expected a plan for 2 nodes, got one for 3 - at `$.action.data.deletion.regions`'
OF_THREE = {'deletion': {'count': 2, 'regions': {'R1': 3}}}
IN_GONE = node(9, profile=profile(zone='gone'))


@pytest.mark.parametrize(
    ('asked', 'regions', 'reason', 'warnings'),
    [
        (request(OUT, [region_policy('R1')]), ['R9'], 'No region is found usable.', [UNKNOWN_R1]),
        (request(OUT, BOTH), NO_ZONES, NO_ZONE, [UNKNOWN_B]),
        (request(NEW, BOTH, node=node(9)), NO_ZONES, NO_ZONE, [UNKNOWN_B]),
        (request(NEW, BOTH, node=IN_GONE), R2_IS_OUT, NO_ZONE, [UNKNOWN_ZONE]),
        (request(IN, [A], nodes(a=3), inputs={'count': 20}), ONE_ZONE_EACH, INFEASIBLE, [ASKED_20]),
        (request(IN, [A], nodes(a=5), data=OF_THREE), ONE_ZONE_EACH, NOT_THREE, []),
    ],
    ids=[
        *('unknown regions', 'no zone', 'no zone for a node', 'no zone of the profile'),
        *('too many', 'shares of another count'),
    ],
)
def test_plan_that_is_not_possible_is_an_error(check, asked, regions, reason, warnings):
    """With no place left, the reason is that of the policy that finds none."""
    reply = check(asked, regions=regions)

    data = reply['action']['data']
    assert (data['status'], data['reason']) == ('ERROR', reason)
    assert reply['warnings'] == warnings


def test_error_without_a_usable_zone_lists_the_unavailable_and_the_unknown_ones(check):
    """The details have the listed zones that the cloud has and lacks, and all that it has."""
    (decision,) = check(request(OUT, BOTH), regions=NO_ZONES)['decisions']

    assert decision['details'] == {
        'unavailable_zones': 'a',
        'unknown_zones': 'b',
        'zones_of_the_cloud': 'a, q',
    }


def test_deletion_in_a_region_without_usable_zone_keeps_its_weight(check):
    """A region without usable zones keeps its share, and gives nodes whatever their zone."""
    regions = {'R1': {'zones': {'a': True, 'b': True}}, 'R2': {'zones': {'q': True}}}
    members = [node(n, 'a', 'R1') for n in (1, 2, 3)]
    members += [node(4, None, 'R2'), node(5, 'q', 'R2'), node(6, 'q', 'R2')]

    policies = [*BOTH, deletion_policy()]
    reply = check(request(IN, policies, members, inputs={'count': 2}), (), regions)

    deletion = reply['action']['data']['deletion']
    places = [{'region_name': 'R1', 'zone': 'a', 'count': 1}, {'region_name': 'R2', 'count': 1}]
    assert (deletion['places'], deletion['candidates']) == (places, ['n1', 'n4'])
    columns = 'region_name', 'note', 'current', 'planned', 'final'
    found = rows(reply, 'zones', *columns, number=1)
    assert found[-1] == ('R2', 'no usable zone', 3, 1, 2)


def test_named_place_is_recorded_in_the_data_of_the_node(check):
    """Places that the profile names are recorded in the node's data; other keys stay."""
    new = node(9, profile=profile('R1', 'a'), data={'placement': {'servergroup': 'g'}, 'other': 1})
    policies = [REGIONS, zone_policy('b')]

    reply = check(request(NEW, policies, [new], node=new), regions=ONE_ZONE_EACH)

    assert [(one['outcome'], one['reason']) for one in reply['decisions']] == [
        ('SKIPPED', 'The profile asks for region R1.'),
        ('SKIPPED', 'The profile asks for availability zone a.'),
    ]
    assert reply['action']['data'] == OK
    placed = {'servergroup': 'g', 'region_name': 'R1', 'zone': 'a'}
    assert reply['nodes'] == {'n9': {'data': {'placement': placed, 'other': 1}}}


def in_profile(region=None, zone=None):
    return node(9, profile=profile(region, zone))


@pytest.mark.parametrize(
    ('policies', 'members', 'new', 'more', 'regions', 'placement'),
    [
        # A zone of the profile decides about the region, listed or not.
        *(
            (BOTH, regional(**{region: 1}), in_profile(zone=zone), {}, R2_IS_OUT, (region, zone))
            for zone, region in (('q', 'R2'), ('q:host', 'R2'), ('b', 'R1'))
        ),
        # A node without a profile of its own is created from the cluster's.
        ([zone_policy('b')], [], node(9), {'profile': profile(zone='a')}, ONE_ZONE_EACH,
         (None, 'a')),
        # A region that the policy does not list takes any number of nodes.
        ([capped(0)], regional(R9=4), in_profile('R9'), {}, ['R1', 'R9'], ('R9', None)),
        # A node that has its place already is not patched.
        ([A], [], node(9, 'a'), {}, ONE_ZONE_EACH, None),
        # An empty zone in a profile counts as absent.
        ([A], [], node(9), {'profile': profile(zone='')}, ONE_ZONE_EACH, (None, 'a')),
        # Zones are looked up in the region of the profile.
        (BOTH, [], in_profile('R2'), {}, ONE_ZONE_EACH, ('R2', 'b')),
    ],
)  # fmt: skip
def test_place_of_a_node_follows_the_place_that_its_profile_names(
    check, policies, members, new, more, regions, placement
):
    """A profile that names one of region and zone restricts the other one."""
    asked = request(NEW, policies, members, node=new, **more)

    reply = check(asked, regions=regions, home_region='R1')

    region, zone = placement or (None, None)
    placed = {'n9': {'data': node(9, zone, region)['data']}}
    assert reply['nodes'] == (placed if placement else {})


@pytest.mark.parametrize(('cap', 'status'), [(-1, 'OK'), (3, 'OK'), (2, 'ERROR'), (0, 'ERROR')])
def test_named_region_that_is_full_is_an_error(check, cap, status):
    """A node whose region is full is not created; the node does not count towards the cap."""
    new = node(9, profile=profile('R1'))
    members = [node(1, None, 'R1'), node(2), new]

    reply = check(
        request(NEW, [capped(cap, -1)], members, node=new), regions=['R1', 'R2'], home_region='R1'
    )

    assert reply['action']['data']['status'] == status
    if status == 'ERROR':
        assert reply['decisions'][0]['reason'] == INFEASIBLE
        assert rows(reply, 'places', 'name', 'current', 'cap') == [('R1', 2, cap)]
        assert reply['nodes'] == {}


@pytest.mark.parametrize('policy', [region_policy('R1'), A])
def test_named_place_in_a_cluster_of_the_largest_size_is_an_error(check, policy):
    """A node that names its place does not exceed the size limit of clusters either."""
    new = node(9, profile=profile('R1', 'a'))
    asked = request(NEW, [policy], [node(1), node(2)], node=new)

    reply = check(asked, settings=WorkerSettings(limits=lambda: Limits(nodes_per_cluster=2)))

    assert (reply['action']['data']['status'], reply['nodes']) == ('ERROR', {})
    assert reply['action']['data']['reason'] == (
        'The target capacity (3) is greater than the maximum number of nodes allowed per '
        'cluster (2).'
    )


@pytest.mark.parametrize(
    ('new', 'zone'),
    [(node(9, profile=profile('R2')), 'a'), (node(9, None, 'R2'), 'a'), (node(9), 'b')],
)
def test_zone_of_a_new_node_is_planned_among_the_nodes_of_its_region(check, new, zone):
    """Nodes of other regions do not count for the zone of a new node, nor does the node itself."""
    members = [node(1, 'a'), node(2, 'a', 'R1'), node(3, 'b', 'R2'), {**new, 'data': new['data']}]
    regions = {name: {'zones': {'a': True, 'b': True}} for name in ('R1', 'R2')}

    reply = check(request(NEW, [ZONES], members, node=new), regions=regions, home_region='R1')

    assert created(reply)['zones'] == {zone: 1}


@pytest.mark.parametrize(
    ('size', 'places', 'expected'),
    [
        (Size(CREATION, 1), 1, '1 node goes to 1 zone'),
        (Size(DELETION, 3), 2, '3 nodes leave 2 zones'),
        (Size(CREATION, 1), 0, '1 node is created without a zone'),
        (Size(DELETION, 2), 0, '2 nodes of no known zone leave'),
        (Size(CREATION, 2, 'limited to 9'), 1, '2 nodes go to 1 zone; limited to 9'),
    ],
)
def test_summary_counts_nodes_and_places(size, places, expected):
    """The reason names the numbers of nodes and places, and the bound of the size."""
    assert summary(size, 'zone', places) == expected


SENTENCE = 'The place of {} of {} is unknown; the plan does not count them: {}'
LOST = [*nodes(a=2), node(3), node(6), node(4, data={'placment': {'zone': 'a'}}), node(5)]
SOME_LOST = SENTENCE.format(4, '6 nodes', 'n3, n4, n5, ...')
IN_REGIONS = {'regions': ONE_ZONE_EACH}
OF_BOTH = [*regional(R1=1), node(2, 'b', 'R2'), node(3, None, 'R2')]
NEW_IN_R1 = {'node': in_profile('R1')}
ONE_ROW = [(1, 0, 1)]


@pytest.mark.parametrize(
    ('asked', 'cloud', 'counts', 'warning'),
    [
        (request(OUT, [ZONES], LOST), {}, [('zones', 4, [(4, 0, 4)])], SOME_LOST),
        (request(IN, [ZONES], LOST, inputs={'count': 3}), {}, [('zones', 4, [(4, 3, 1)])],
         SOME_LOST),
        (request(OUT, [REGIONS], [node(1, None, 'R1'), node(2)]), IN_REGIONS,
         [('regions', 1, ONE_ROW)], SENTENCE.format(1, '2 nodes', 'n2')),
        (request(OUT, BOTH, OF_BOTH), IN_REGIONS, [('regions', 0, []), ('zones', 1, ONE_ROW)],
         SENTENCE.format(1, '3 nodes', 'n1')),
        (request(NEW, [A], regional(R1=1, R2=1), **NEW_IN_R1), IN_REGIONS, [('zones', 1, ONE_ROW)],
         SENTENCE.format(1, '2 nodes', 'n1')),
    ],
    ids=['growth', 'shrinkage', 'regions', 'zone of a region', 'new node'],
)  # fmt: skip
def test_plan_names_the_nodes_of_unknown_place(check, asked, cloud, counts, warning):
    """Details, a row and a warning count the nodes that a plan cannot place."""
    reply = check(asked, zones=['a', 'b'], **cloud)

    assert reply['warnings'] == [warning]
    for number, (key, unplaced, expected) in enumerate(counts):
        found = rows(reply, key, 'note', 'current', 'planned', 'final', number=number)
        assert [row[1:] for row in found if row[0] == 'no known place'] == expected
        assert reply['decisions'][number]['details']['unplaced'] == unplaced
