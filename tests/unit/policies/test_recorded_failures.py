"""The failures of deleted nodes, in the data of their cluster."""

import msgspec
import pytest

from placement_worker.contract import actions
from placement_worker.contract.model import CheckRequest, ClusterPatch
from placement_worker.planning.shortage import Backoff
from placement_worker.policies.places import patch_after_deletion
from tests.factories import (
    NOW,
    deletion_policy,
    node,
    nodes,
    redistributing,
    refused,
    region_policy,
    request,
    zone_policy,
)
from tests.unit.policies.shortages import UNTIL, created, decide, rows, scale_out

ZONES = redistributing(zone_policy('a', 'b'))
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
    """Return keys of an action that names a victim."""
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


@pytest.mark.parametrize('policies', [[ZONES], [ZONES, deletion_policy(version='1.2')]], ids=len)
@pytest.mark.parametrize('action', sorted(actions.REMOVING))
def test_deletion_of_a_failed_node_records_its_place(action, policies):
    """The record is written for each kind of victim, also if no policy handles the action."""
    victim = refused(4, 'a')
    members = [*nodes(b=1), victim]

    reply = decide(request(action, policies, members, **deleting(action, victim)))

    assert reply['cluster']['data'] == {'placement_failures': [record('a')]}


def test_record_keeps_the_next_node_out_of_the_full_place():
    """A node that replaces the deleted one goes to the place with room, with a warning."""
    asked = knowing(scale_out(1, ZONES, members=[]), record('a'))

    reply = decide(asked)

    assert (created(reply), reply['cluster']) == ({'b': 1}, None)
    assert rows(reply)['a']['note'] == UNTIL
    assert reply['warnings'] == [f'Zone a is {UNTIL} (1 failed attempt, remembered)']


@pytest.mark.parametrize('dry_run', [True, False])
def test_chosen_victims_are_recorded_beside_other_data(dry_run):
    """The patch has the whole data of the cluster, and the record of another place."""
    members = [*nodes(b=2), refused(4, 'a')]
    policies = [ZONES, deletion_policy()]
    asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 1}, dry_run=dry_run)

    reply = decide(knowing(asked, record('z', 'R9')))

    assert reply['cluster']['data'] == {
        **OTHER, 'placement_failures': [record('a'), record('z', 'R9')],
    }  # fmt: skip


@pytest.mark.parametrize(
    ('policies', 'victim'),
    [
        ([deletion_policy()], refused(4, 'a')),
        ([zone_policy('a', 'b')], refused(4, 'a')),
        ([redistributing(zone_policy('a'), mode='ignore')], refused(4, 'a')),
        ([{**ZONES, 'enabled': False}], refused(4, 'a')),
        ([ZONES], node(1, 'a', status='ERROR')),
        ([ZONES], refused(4, 'a', status_reason='Quota exceeded for cores')),
        ([ZONES], refused(4)),
    ],
    ids=['no placement', '1.0', 'ignore', 'disabled', 'created', 'quota', 'no place'],
)
def test_other_deletions_record_nothing(policies, victim):
    """Only evidence is recorded, and only for a policy that reads it."""
    asked = request('CLUSTER_DEL_NODES', policies, [victim], inputs={'candidates': [victim['id']]})

    assert decide(asked)['cluster'] is None


@pytest.mark.parametrize(
    'more',
    [
        {'target': 'AFTER'},
        {'action': 'NODE_DELETE', 'cause': 'Derived Action', 'node': refused(4, 'a')},
        {'inputs': {'candidates': ['n1']}},
        {'inputs': {}},
    ],
    ids=['after', 'part of an action', 'other victim', 'no victim'],
)
def test_failed_node_that_stays_is_not_recorded(more):
    """The nodes themselves are the evidence until an action deletes them."""
    more = {'action': 'CLUSTER_DEL_NODES', 'inputs': {'candidates': ['n4']}, **more}
    members = [*nodes(b=1), refused(4, 'a')]

    assert decide(request(more.pop('action'), [ZONES], members, **more))['cluster'] is None


def test_failed_check_records_nothing():
    """A deletion that is refused leaves the evidence in place."""
    victim = refused(4, 'a', metadata={'protected': 'true'})
    asked = request('CLUSTER_DEL_NODES', [ZONES], [victim], inputs={'candidates': ['n4']})

    reply = decide(asked)

    assert (reply['action']['data']['status'], reply['cluster']) == ('ERROR', None)


def test_repeated_deletion_changes_no_record():
    """A check that the engine repeats after it has stored the patch counts no attempt again."""
    victim = refused(4, 'a')
    asked = request('CLUSTER_DEL_NODES', [ZONES], [victim], inputs={'candidates': ['n4']})

    assert decide(knowing(asked, record('a')))['cluster'] is None


def test_failed_probe_doubles_the_recorded_attempts():
    """The next attempt after a recorded one is the second in a row."""
    before = record('a', at='2026-01-01T11:50:00Z')
    victim = refused(4, 'a')
    asked = request('CLUSTER_DEL_NODES', [ZONES], [victim], inputs={'candidates': ['n4']})

    assert recorded(decide(knowing(asked, before))) == [record('a', attempts=2)]


def test_ended_records_are_removed_with_a_deletion():
    """A node that ends a record may be deleted itself, after which nothing would end it."""
    new = node(1, 'a', created_at='2026-01-01T11:59:30Z')
    asked = request('CLUSTER_DEL_NODES', [ZONES], [new], inputs={'candidates': ['n1']})

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

    reply = decide(request('CLUSTER_ADD_NODES', [ZONES], [refused(4, 'a')], data=data))

    assert reply['action']['data']['status'] == 'OK'


def test_time_of_a_record_is_that_of_the_last_failure():
    """The delay starts when the engine failed, not when the node is deleted."""
    members = [refused(4, 'a', minutes=3), refused(5, 'a', minutes=2), *nodes(b=1)]
    asked = request('CLUSTER_DEL_NODES', [ZONES], members, inputs={'candidates': ['n4', 'n5']})

    assert recorded(decide(asked)) == [record('a', at='2026-01-01T11:58:00Z')]


def test_record_is_added_to_the_patch_of_a_policy():
    """A policy that changes the data of the cluster in the same check loses no change."""
    asked = request('CLUSTER_DEL_NODES', [ZONES], [refused(4, 'a')], inputs={'candidates': ['n4']})
    decoded = msgspec.convert(asked, CheckRequest)

    patch = patch_after_deletion(decoded, {}, ClusterPatch(OTHER), [Backoff(300, 3600)], NOW)

    assert patch.data == {**OTHER, 'placement_failures': [record('a')]}


def test_newer_version_of_a_node_is_no_second_attempt():
    """The node of an action replaces the member with its id."""
    members = [refused(4, 'a', minutes=20)]
    asked = request('NODE_DELETE', [ZONES], members, node=refused(4, 'a', minutes=1))

    assert [one['attempts'] for one in recorded(decide(asked))] == [1]


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
