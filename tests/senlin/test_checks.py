"""Senlin's `Action.policy_check` through the worker; the database of Senlin has the results."""

import itertools
import logging
import re

import eventlet
import msgspec
import pytest
from senlin.common import consts
from senlin.objects import cluster_policy as bindings

from placement_worker.engines.senlin import requests
from tests.senlin import engine
from tests.senlin.specs import affinity, deletion, regions, scaling, zones

pytestmark = pytest.mark.usefixtures('worker')


def checks_of(worker, action):
    """Return the number of checks of an action, by its request id in the log of the worker."""
    lines = worker.log.read_text().splitlines()
    decided = re.compile(r' of cluster \S+: (OK|ERROR) in ')
    return sum(action.context.request_id in line and bool(decided.search(line)) for line in lines)


def set_priorities(cluster, made, **priorities):
    for name, priority in priorities.items():
        values = {'priority': priority}
        bindings.ClusterPolicy.update(engine.context(), cluster.id, made[name].id, values)


def placements(data):
    assert data['placement']['count'] == len(data['placement']['placements'])
    return data['placement']['placements']


def test_new_nodes_are_spread_over_zones():
    """The zone placement policy spreads new nodes over the usable zones."""
    policies = {'zones': zones('az1', 'az2', 'down')}
    cluster = engine.add_cluster('az1', 'az1', 'az2', policies=policies)

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=3)

    assert (data['status'], data['reason']) == ('OK', 'Completed policy checking.')
    assert data['creation'] == {'count': 3, 'zones': {'az1': 1, 'az2': 2}}
    assert placements(data) == [{'zone': 'az2'}, {'zone': 'az1'}, {'zone': 'az2'}]


def test_regions_zones_and_victims_are_decided_in_one_call(worker):
    """Adjacent policies of the worker share one call."""
    pairs = itertools.product(('RegionOne', 'RegionTwo'), ('az1', 'az2'))
    places = [{'region_name': region, 'zone': zone} for region, zone in pairs]
    policies = {
        'regions': regions('RegionOne', 'RegionTwo'),
        'zones': zones('az1', 'az2'),
        'victims': deletion(),
    }
    cluster = engine.add_cluster(places=[*places, places[0], places[0]], policies=policies)
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_IN, count=2)

    data = engine.checked(action)

    assert data['deletion']['places'] == [{'region_name': 'RegionOne', 'zone': 'az1', 'count': 2}]
    victims = map(engine.node_of, data['deletion']['candidates'])
    assert [victim.data['placement'] for victim in victims] == [places[0], places[0]]
    assert checks_of(worker, action) == 1


def test_oldest_profile_first_selects_nodes_of_the_oldest_profile():
    """The criterion OLDEST_PROFILE_FIRST reads the age of profiles from Senlin."""
    old, new = engine.add_profile(), engine.add_profile()
    cluster = engine.add_cluster('az1', profile=new)
    placement = {'zone': 'az1'}
    oldest = engine.add_node(cluster, old, placement)
    engine.add_node(cluster, new, placement)
    engine.bound(cluster, victims=deletion(criteria='OLDEST_PROFILE_FIRST'))

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=1)

    assert data['deletion']['candidates'] == [oldest.id]


def test_new_single_node_has_its_zone_in_the_database_and_in_the_engine():
    """The placement of a single node reaches the database and the object of the engine."""
    cluster = engine.add_cluster('az1', 'az1', policies={'zones': zones('az1', 'az2')})
    node = engine.add_node(cluster, engine.add_profile(), status=consts.NS_INIT)
    action = engine.add_action(node, consts.NODE_CREATE)

    engine.checked(action)

    assert engine.node_of(node.id).data == {'placement': {'zone': 'az2'}}
    assert action.entity.data == {'placement': {'zone': 'az2'}}


def test_request_has_the_profile_of_a_node_if_it_differs_from_the_cluster():
    """A request has a profile of a node, with its zone and region alone, if it differs."""
    cluster = engine.add_cluster('az1')
    own = engine.add_profile(availability_zone='az2', context={'region_name': 'RegionTwo'})
    other = engine.add_node(cluster, own)

    sent = msgspec.to_builtins(requests.cluster_of(engine.context(), cluster.id))

    profiles = {node['id']: node.get('profile') for node in sent['nodes']}
    region = {'region_name': 'RegionTwo'}
    sent_properties = profiles.pop(other.id)['properties']
    assert sent_properties == {'availability_zone': 'az2', 'context': region}
    assert list(profiles.values()) == [None]


def test_nodes_count_in_the_region_that_their_own_profile_names():
    """A plan by region counts nodes without placement data where their profiles put them."""
    cluster = engine.add_cluster()
    for region in ('RegionOne', 'RegionOne', 'RegionTwo'):
        engine.add_node(cluster, engine.add_profile(context={'region_name': region}))
    engine.bound(cluster, regions=regions('RegionOne', 'RegionTwo'), victims=deletion())

    data = engine.check(cluster, consts.CLUSTER_SCALE_IN, count=1)

    assert data['deletion']['regions'] == {'RegionOne': 1}


@pytest.mark.parametrize(
    ('cause', 'is_decided'),
    [(consts.CAUSE_RPC, True), (consts.CAUSE_DERIVED_LCH, True), (consts.CAUSE_DERIVED, False)],
)
def test_node_action_derived_from_a_cluster_action_is_not_checked(cause, is_decided):
    """The policies decide for a cluster action once, and not for its derived node actions."""
    cluster = engine.add_cluster('az1', 'az1', policies={'victims': deletion()})
    victim = cluster.nodes[1]

    data = engine.checked(engine.add_action(victim, consts.NODE_DELETE, cause))

    assert data['status'] == 'OK'
    assert data.get('deletion', {}).get('candidates') == ([victim.id] if is_decided else None)


@pytest.mark.parametrize('affinity_priority', [250, 350])
def test_nodes_get_their_server_group_and_zone_in_either_order(affinity_priority):
    """Affinity and zone placement complement each other in either order of priority."""
    cluster = engine.add_cluster('az1', 'az1')
    made = engine.bound(cluster, affinity=affinity(), zones=zones('az1', 'az2'))
    set_priorities(cluster, made, affinity=affinity_priority)

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=2)

    assert placements(data) == [{'servergroup': 'group-1', 'zone': 'az2'}] * 2


@pytest.mark.parametrize(
    'priorities',
    [{'affinity': 250}, {'affinity': 300}, {'zones': 100, 'affinity': 250, 'regions': 400}],
    ids=['between', 'at zones', 'zones first'],
)
def test_regions_and_zones_around_affinity_are_planned_in_one_call(worker, priorities):
    """Affinity bound between region and zone placement runs before both, which make one call.

    Zones are planned after regions, whatever their priorities.
    """
    cluster = engine.add_cluster(places=[{'region_name': 'RegionOne', 'zone': 'az1'}])
    policies = {
        'regions': regions('RegionOne'),
        'affinity': affinity(),
        'zones': zones('az1', 'az2'),
    }
    set_priorities(cluster, engine.bound(cluster, **policies), **priorities)
    grown = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=1)
    shrunk = engine.add_action(cluster, consts.CLUSTER_SCALE_IN, count=1)

    data = engine.checked(grown)
    engine.checked(shrunk)

    placed = {'region_name': 'RegionOne', 'servergroup': 'group-1', 'zone': 'az2'}
    assert placements(data) == [placed]
    assert data['creation']['places'] == [{'region_name': 'RegionOne', 'zone': 'az2', 'count': 1}]
    assert (checks_of(worker, grown), checks_of(worker, shrunk)) == (1, 1)


def test_new_nodes_of_a_region_without_usable_zone_go_elsewhere_though_affinity_is_bound():
    """With the default priorities and affinity, a region without a usable zone gets no node."""
    policies = {
        'regions': regions('RegionOne', 'Zoneless'),
        'affinity': affinity(),
        'zones': zones('az1', 'az2'),
    }
    cluster = engine.add_cluster(policies=policies)

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=2)

    assert data['creation']['places'] == [
        {'region_name': 'RegionOne', 'zone': 'az1', 'count': 1},
        {'region_name': 'RegionOne', 'zone': 'az2', 'count': 1},
    ]


def test_count_of_a_scaling_policy_between_region_and_zone_placement_reaches_both():
    """A scaling policy with the priority of zone placement runs before regions are planned."""
    cluster = engine.add_cluster()
    made = engine.bound(
        cluster,
        regions=regions('RegionOne', 'RegionTwo'),
        scaling=scaling('CLUSTER_SCALE_OUT', 4),
        zones=zones('az1', 'az2'),
    )
    set_priorities(cluster, made, scaling=300)

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT)

    assert data['creation']['regions'] == {'RegionOne': 2, 'RegionTwo': 2}
    assert data['creation']['zones'] == {'az1': 2, 'az2': 2}


def test_two_policies_of_one_type_fail_the_check_which_names_both():
    """Two versions of one type are found although another policy lies between them."""
    cluster = engine.add_cluster('az1', 'az1')
    older = {**deletion(), 'version': '1.0'}
    made = engine.bound(cluster, old=older, affinity=affinity(), new=deletion())
    set_priorities(cluster, made, old=100, affinity=200, new=300)
    size = {'adjustment_type': 'EXACT_CAPACITY', 'number': 1}

    assert engine.rejection(cluster, consts.CLUSTER_RESIZE, **size) == (
        "Failed policy 'old', 'new': Policies old and new are both of type "
        'senlin.policy.deletion: disable or detach one.'
    )


def test_warnings_of_the_worker_are_in_the_log_of_senlin(caplog):
    """Senlin's log has the warnings of attaching and of checks at WARNING."""
    cluster = engine.add_cluster('az1', policies={'zones': zones('az1', 'nowhere')})

    engine.check(cluster, consts.CLUSTER_SCALE_IN, count=1)

    warnings = [
        text
        for name, level, text in caplog.record_tuples
        if level == logging.WARNING and 'placement' in name
    ]
    unknown = 'The cloud does not know availability zone "nowhere"'
    attached, *checked = (text.partition('; it has ')[0] for text in warnings)
    assert attached == f'Policy zones of cluster {cluster.id}: {unknown}'
    assert [text.rpartition(f'{cluster.id}: ')[2] for text in checked] == [
        'The action removes the only node of the cluster',
        unknown,
    ]


def test_failed_scaling_policy_stops_the_check_before_the_worker(worker):
    """The worker gets no request after a policy of Senlin has failed."""
    policies = {'scaling': scaling('CLUSTER_SCALE_OUT', 1), 'zones': zones('az1')}
    cluster = engine.add_cluster('az1', max_size=1, policies=policies)
    action = engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=-1)

    data = engine.checked(action)

    reason = "Failed policy 'scaling': Invalid count (-1) for action 'CLUSTER_SCALE_OUT'."
    assert (data['status'], data['reason']) == ('ERROR', reason)
    assert checks_of(worker, action) == 0


def test_disabled_policy_is_not_checked():
    """A disabled policy does not decide."""
    cluster = engine.add_cluster('az1')
    engine.attach(cluster, 'zones', zones('down'), enabled=False)

    data = engine.check(cluster, consts.CLUSTER_SCALE_OUT, count=1)

    assert data['status'] == 'OK'


@pytest.mark.parametrize('phase', ['BEFORE', 'AFTER'])
def test_action_that_no_policy_handles_is_not_sent(worker, phase):
    """The worker gets no request for an action that none of its policies handles."""
    policies = {'zones': zones('az1'), 'victims': deletion()}
    cluster = engine.add_cluster('az1', policies=policies)
    action = engine.add_action(cluster, consts.CLUSTER_ADD_NODES, nodes=[])

    data = engine.checked(action, phase)

    assert (data['status'], checks_of(worker, action)) == ('OK', 0)


def test_checks_of_several_greenthreads_get_their_own_replies():
    """Concurrent checks of an engine never get the reply of another check."""
    policies = {'zones': zones('az1', 'az2')}
    clusters = [engine.add_cluster('az1', policies=policies) for _ in range(5)]
    actions = [
        engine.add_action(cluster, consts.CLUSTER_SCALE_OUT, count=n)
        for n, cluster in enumerate(clusters, 1)
    ]

    pool = eventlet.GreenPool()
    counts = [data['creation']['count'] for data in pool.imap(engine.checked, actions)]

    assert counts == [1, 2, 3, 4, 5]
