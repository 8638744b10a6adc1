"""Requests over places that are short of capacity, and the parts of their replies."""

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import actions
from placement_worker.contract.model import CheckRequest, ClusterPatch
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.planning.places import Place, shortage_warnings
from placement_worker.planning.shortage import Backoff, Shortage
from placement_worker.policies.recorded_failures import patch_after_deletion
from placement_worker.policies.registry import Registry
from tests.factories import (
    NOW,
    deletion_policy,
    node,
    nodes,
    redistributing,
    refused,
    region_policy,
    request,
    spreading,
    zone_policy,
)

UNTIL = 'short of capacity until 2026-01-01T12:04:00Z'
CLOUD = {
    'zones': dict.fromkeys('abc', True),
    'regions': {'R1': {}, 'R2': {'zones': {'a': True, 'd': True}}},
    'home_region': 'R1',
}


def decide(asked):
    inventory = Inventory.parse(CLOUD, 'test')
    return Endpoints(inventory, Registry.installed(), WorkerSettings(now=lambda: NOW)).policy_check(
        asked
    )


def scale_out(count, *policies, members, **more):
    return request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': count}, **more)


def created(reply, by='zones'):
    assert reply['action']['data']['status'] == 'OK', reply['action']['data']['reason']
    return reply['action']['data']['creation'][by]


def rows(reply, by='zones'):
    return {row['name']: row for row in reply['decisions'][0]['details'][by]}


ZONES = spreading(redistributing(zone_policy('a', 'b', 'c')), max_skew=9)
PROBE = 'short of capacity: one probe'
IGNORING = redistributing(zone_policy('a', 'b', 'c'), mode='ignore')
NOW_FULL, LATER = [refused(7, 'a')], [refused(number, 'a', minutes=5) for number in (7, 8)]
CREATED_SINCE = [refused(7, 'a', minutes=30), node(9, 'a', created_at='2026-01-01T11:50:00Z')]
IN_THE_FUTURE = [refused(7, 'a', minutes=-(10**6))]
ONCE = ' (1 failed attempt)'
WRONG_CLOCK = ' (failed at an unknown time or in the future; check the clock of the engine)'
ONE_EACH = {'a': 1, 'b': 1, 'c': 1}


@pytest.mark.parametrize(
    ('policy', 'members', 'creation', 'current', 'note', 'cause'),
    [
        # The other zones take the share of a full zone, whose failed node is not counted.
        (ZONES, NOW_FULL, {'b': 2, 'c': 1}, 0, UNTIL, ONCE),
        # After the delay one node is created in the zone, however many it is short of.
        (ZONES, LATER, ONE_EACH, 0, PROBE, ONCE),
        # A node that was created after the delay ends the shortage.
        (ZONES, CREATED_SINCE, {'a': 3}, 1, '', None),
        # A clock that is wrong delays no node.
        (ZONES, IN_THE_FUTURE, ONE_EACH, 0, PROBE, WRONG_CLOCK),
        # Other modes count failed nodes.
        (zone_policy('a', 'b', 'c'), NOW_FULL, {'a': 3}, 1, '', None),
        (IGNORING, NOW_FULL, {'a': 3}, 1, '', None),
        # A node that failed for another reason is no evidence.
        (ZONES, [refused(7, 'a', status_reason='Quota exceeded')], {'a': 3}, 0, '', None),
    ],
    ids=[*('waits', 'probe', 'after a probe', 'wrong clock', 'version 1.0', 'ignore'), 'quota'],
)
def test_place_that_refused_a_node_gets_none_until_the_delay_has_passed(
    policy, members, creation, current, note, cause
):
    """After the delay a node is created in the zone as a probe; row and warning say so."""
    reply = decide(scale_out(3, policy, members=[*nodes(b=3, c=3), *members]))

    assert created(reply) == creation
    assert (rows(reply)['a']['current'], rows(reply)['a']['note']) == (current, note)
    assert reply['warnings'] == ([f'Zone a is {note}{cause}'] if cause else [])


def test_deletion_is_planned_without_shortages():
    """A deletion counts failed nodes, which leave first, and mentions no shortage."""
    members = [*nodes(a=1, b=1, c=1), refused(4, 'a')]

    reply = decide(request('CLUSTER_SCALE_IN', [ZONES], members, inputs={'count': 1}))

    assert reply['action']['data']['deletion']['zones'] == {'a': 1}
    assert (rows(reply)['a']['note'], reply['warnings']) == ('', [])


def test_new_node_of_an_action_counts_as_evidence():
    """An engine that creates a failed node again gets another place for it."""
    new = refused(4, 'a')
    members = [*nodes(b=1, c=1), new]

    reply = decide(request('NODE_CREATE', [ZONES], members, node=new))

    assert created(reply) == {'b': 1}


def test_warning_of_a_place_escapes_and_shortens_its_name():
    """The name of a place cannot control a terminal, nor fill a log."""
    place = Place('\x1b[31m' + 'a' * 99, shortage=Shortage(1, NOW, 1))

    (warning,) = shortage_warnings([place], 'zone')

    assert warning.startswith('Zone \\u001b[31maaa')
    assert len(warning) < 160


BOTH = (redistributing(region_policy('R1', 'R2')), redistributing(zone_policy('a', 'b', 'd')))
OF_R1 = redistributing(region_policy(('R1', 300), 'R2'))
IN_A, IN_B = refused(1, 'a', 'R1'), refused(2, 'b', 'R1')
OF_A, OF_B = ('Zone a of region R1', 'Zone b of region R1')


@pytest.mark.parametrize(
    ('policies', 'members', 'creation', 'warnings'),
    [
        # Region placement alone observes the regions of failed nodes, whatever their zones.
        ([OF_R1], [IN_A], {'R2': 4}, ['Region R1']),
        # A region with another zone keeps its share.
        (BOTH, [IN_A], {'R1 b': 2, 'R2 a': 1, 'R2 d': 1}, [OF_A]),
        # A region whose zones all wait gets no node, and one node if a zone can be probed.
        (BOTH, [IN_A, IN_B], {'R2 a': 2, 'R2 d': 2}, ['Region R1']),
        (
            BOTH,
            [IN_A, refused(2, 'b', 'R1', minutes=9)],
            {'R1 b': 1, 'R2 a': 2, 'R2 d': 1},
            ['Region R1', OF_A, OF_B],
        ),
    ],
    ids=['regions alone', 'one zone', 'both zones wait', 'one zone is probed'],
)
def test_share_of_a_region_depends_on_the_shortages_of_its_zones(
    policies, members, creation, warnings
):
    """A region is short of capacity if all its zones are; other regions take its share."""
    reply = decide(scale_out(4, *policies, members=members))

    counts = created(reply, 'regions')
    if len(policies) > 1:
        places = created(reply, 'places')
        counts = {f'{one["region_name"]} {one["zone"]}': one['count'] for one in places}
    assert counts == creation
    texts = [text for text in reply['warnings'] if 'would hold' not in text]
    assert [text.partition(' is short of capacity')[0] for text in texts] == warnings


IN_R1, IN_R2 = {'region_name': 'R1'}, {'region_name': 'R2'}
A, B, D = ({'zone': zone} for zone in 'abd')


@pytest.mark.parametrize(
    ('policies', 'members', 'alternatives'),
    [
        ([ZONES], [*nodes(a=2, b=1), refused(9, 'c')], [(A, B), (B, A)]),
        # Version 1.0, `ignore` and strict spread leave an engine no choice.
        ([zone_policy('a', 'b')], [], None),
        ([IGNORING], [], None),
        ([spreading(zone_policy('a', 'b'), mode='strict')], [], None),
        (BOTH, [], [(IN_R1 | A, IN_R1 | B), (IN_R1 | B, IN_R1 | A), (IN_R2 | A, IN_R2 | D)]),
        (BOTH[:1], [], [(IN_R1, IN_R2), (IN_R2, IN_R1)]),
    ],
    ids=['zones', 'version 1.0', 'ignore', 'strict spread', 'both', 'regions'],
)
def test_reply_lists_the_places_to_try_next(policies, members, alternatives):
    """A zone of a region is replaced by another zone there, and no place is short of capacity."""
    reply = decide(scale_out(3, *policies, members=members))

    expected = [{'place': place, 'retry': [other]} for place, other in alternatives or ()]
    assert reply['action']['data']['creation'].get('alternatives', []) == expected


TWO_ZONES = redistributing(zone_policy('a', 'b'))
REGIONS = redistributing(region_policy('R1', 'R2'))
AT = '2026-01-01T11:59:00Z'
OTHER = {'loadbalancers': {'lb': {'vip_address': '10.0.0.9'}}}


def record(zone, region=None, at=AT, attempts=1):
    return {'region_name': region, 'zone': zone, 'at': at, 'attempts': attempts}


def knowing(asked, *failures):
    """Return the request with recorded failures, besides other data of the cluster."""
    return {
        **asked,
        'cluster': {**asked['cluster'], 'data': {**OTHER, 'placement_failures': list(failures)}},
    }


def recorded(reply):
    """Return the recorded failures of a reply, which must be OK; None without a patch."""
    assert reply['action']['data']['status'] == 'OK', reply['action']['data']['reason']
    return reply['cluster'] and reply['cluster']['data'].get('placement_failures')


def deleting(action, victim):
    named = {'candidates': [victim['id']]}
    if action == actions.CLUSTER_REPLACE_NODES:
        return {'inputs': {'candidates': {victim['id']: 'n99'}}}
    if action == actions.NODE_DELETE:
        return {'node': victim}
    if action == actions.CLUSTER_SCALE_IN:
        return {'inputs': {'count': 1}, 'data': {'deletion': {'count': 1, **named}}}
    if action == actions.CLUSTER_RESIZE:
        return {'inputs': {**named, 'adjustment_type': 'CHANGE_IN_CAPACITY', 'number': -1}}
    return {'inputs': named}


@pytest.mark.parametrize(
    'policies', [[TWO_ZONES], [TWO_ZONES, deletion_policy(version='1.2')]], ids=len
)
@pytest.mark.parametrize('action', sorted(actions.REMOVING))
def test_deletion_of_a_failed_node_records_its_place(action, policies):
    """The record is written for each kind of victim, also if no policy handles the action."""
    victim = refused(4, 'a')
    members = [*nodes(b=1), victim]

    reply = decide(request(action, policies, members, **deleting(action, victim)))

    assert reply['cluster']['data'] == {'placement_failures': [record('a')]}


def test_record_keeps_the_next_node_out_of_the_full_place():
    """A node that replaces the deleted one goes to the place with room, with a warning."""
    asked = knowing(scale_out(1, TWO_ZONES, members=[]), record('a'))

    reply = decide(asked)

    assert (created(reply), reply['cluster']) == ({'b': 1}, None)
    assert rows(reply)['a']['note'] == UNTIL
    assert reply['warnings'] == [f'Zone a is {UNTIL} (1 failed attempt, remembered)']


@pytest.mark.parametrize('dry_run', [True, False])
def test_chosen_victims_are_recorded_beside_other_data(dry_run):
    """The patch has the whole data of the cluster, and the record of another place."""
    members = [*nodes(b=2), refused(4, 'a')]
    policies = [TWO_ZONES, deletion_policy()]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 1}, dry_run=dry_run)

    reply = decide(knowing(asked, record('z', 'R9')))

    assert reply['cluster']['data'] == {
        **OTHER, 'placement_failures': [record('a'), record('z', 'R9')],
    }  # fmt: skip


def removal(victim=None, policies=(TWO_ZONES,), action='CLUSTER_DEL_NODES', known=(), **more):
    """Return a request to delete n4, which failed in zone a unless given."""
    members = [*nodes(b=1), victim or refused(4, 'a')]
    asked = request(action, policies, members, **{'inputs': {'candidates': ['n4']}, **more})
    return knowing(asked, *known) if known else asked


@pytest.mark.parametrize(
    'asked',
    [
        removal(policies=[deletion_policy()]),
        removal(policies=[zone_policy('a', 'b')]),
        removal(policies=[redistributing(zone_policy('a'), mode='ignore')]),
        removal(policies=[{**TWO_ZONES, 'enabled': False}]),
        removal(refused(4, 'a', status_reason='Quota exceeded for cores')),
        removal(target='AFTER'),
        removal(action='NODE_DELETE', cause='Derived Action', node=refused(4, 'a'), inputs={}),
        removal(inputs={'candidates': ['n1']}),
        removal(inputs={}),
        removal(refused(4, 'a', metadata={'protected': 'true'})),
        removal(known=[record('a')]),
    ],
    ids=[
        *('no placement', '1.0', 'ignore', 'disabled', 'quota', 'after'),
        *('part of an action', 'other victim', 'no victim', 'refused', 'repeated'),
    ],
)
def test_deletion_without_new_evidence_records_nothing(asked):
    """Only evidence that an action deletes is recorded, once, and for a policy that reads it."""
    assert decide(asked)['cluster'] is None


OF_NODE = {'action': 'NODE_DELETE', 'node': refused(4, 'a'), 'inputs': {}}


@pytest.mark.parametrize(
    ('asked', 'attempts'),
    [
        # The next attempt after a recorded one is the second in a row.
        (removal(known=[record('a', at='2026-01-01T11:50:00Z')]), 2),
        # The node of an action replaces the member with its id.
        (removal(refused(4, 'a', minutes=20), **OF_NODE), 1),
    ],
    ids=['failed probe', 'newer version of a node'],
)
def test_failed_probe_doubles_the_recorded_attempts(asked, attempts):
    """Each failure of a place counts once."""
    assert recorded(decide(asked)) == [record('a', attempts=attempts)]


def test_ended_records_are_removed_with_a_deletion():
    """A node that ends a record may be deleted itself, after which nothing would end it."""
    new = node(1, 'a', created_at='2026-01-01T11:59:30Z')
    asked = request('CLUSTER_DEL_NODES', [TWO_ZONES], [new], inputs={'candidates': ['n1']})

    reply = decide(knowing(asked, record('a'), record('b', at='2026-01-01T10:00:00Z')))

    assert reply['cluster'] == {'data': OTHER}


def test_record_ends_at_the_longest_delay_of_all_policies():
    """A policy with shorter delays does not end the record of another one."""
    long = redistributing(region_policy('R1'), max_s=7200)
    zones = redistributing(zone_policy('a', 'b'))
    asked = scale_out(2, long, zones, members=[])

    reply = decide(knowing(asked, record('a', 'R1', at='2026-01-01T10:30:00Z')))

    assert 'Zone a of region R1 is short of capacity: one probe' in reply['warnings'][-1]


@pytest.mark.parametrize('region', ['R1', None], ids=['named', 'home'])
def test_region_is_recorded_as_the_request_names_it(region):
    """A place in the home region is found again, whether its record names the region or not."""
    victim = refused(4, region=region, zone='b')
    asked = request('CLUSTER_DEL_NODES', [REGIONS], [victim], inputs={'candidates': ['n4']})

    failures = recorded(decide(asked))
    reply = decide(knowing(scale_out(1, REGIONS, members=[]), *failures))

    assert failures == [record('b', region)]
    assert created(reply, 'regions') == {'R2': 1}


@pytest.mark.parametrize('candidates', [7, 'n4', [['n4']], {'n4': 5}])
def test_malformed_victims_that_no_policy_reads_do_no_harm(candidates):
    """An engine may send any data; the check passes as without a record."""
    data = {'deletion': {'candidates': candidates}}

    reply = decide(request('CLUSTER_ADD_NODES', [TWO_ZONES], [refused(4, 'a')], data=data))

    assert reply['action']['data']['status'] == 'OK'


def test_record_is_added_to_the_patch_of_a_policy():
    """A policy that changes the data of the cluster in the same check loses no change."""
    asked = request(
        'CLUSTER_DEL_NODES', [TWO_ZONES], [refused(4, 'a')], inputs={'candidates': ['n4']}
    )
    decoded = msgspec.convert(asked, CheckRequest)

    patch = patch_after_deletion(decoded, {}, ClusterPatch(OTHER), [Backoff(300, 3600)], NOW)

    assert patch.data == {**OTHER, 'placement_failures': [record('a')]}


def test_record_of_another_region_does_not_concern_a_new_node():
    """A new node counts the evidence of its own region."""
    new = node(9, data={}, created_at=None, status='INIT') | {
        'profile': {
            'type': 'os.nova.server-1.0', 'properties': {'context': {'region_name': 'R1'}}
        }
    }  # fmt: skip
    asked = request('NODE_CREATE', [redistributing(zone_policy('a', 'b'))], [], node=new)
    asked['cluster']['data'] = {'placement_failures': [record('a', 'R2')]}

    assert created(decide(asked)) == {'a': 1}
