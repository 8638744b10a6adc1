"""Replays of recorded decisions."""

import datetime
import itertools
import json

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import ApiError
from placement_worker.contract.rpc import Limits
from placement_worker.decisions import replay
from placement_worker.decisions.records import Entry
from placement_worker.decisions.replay import Difference
from tests.factories import (
    NOW,
    bind,
    connected,
    deletion_policy,
    load_balancing_policy,
    node,
    nodes,
    rebalance,
    redistributing,
    refused,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab, patched
from tests.unit.decisions.conftest import CLOUD, recorded, shrinking_at_random

SECRETS = ('trust-9', 'pw-1', 'pw-2', 'pw-3', 'pw_4', 'user-data-5', 'token-6')


def entry(line):
    return msgspec.json.decode(line, type=Entry)


RANDOM = [zone_policy('a', 'b'), deletion_policy('RANDOM')]
GONE = [zone_policy('gone'), RANDOM[1]]
HELD, AGED = [*nodes(a=4), node(5, physical_id='s1')], {'options': {'min_age_s': 60}}
ON_A_SERVER = [*nodes(a=1), node(2, physical_id='s1')]


ZONES = {'zones': {'a': True, 'b': True}}
TWO_REGIONS = Inventory.parse({'regions': {'R1': ZONES, 'R2': ZONES}, 'home_region': 'R2'}, 'test')
BY_REGION = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy()]
AT_NOON = {'now': lambda: NOW}
GROWING = request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 3})


@pytest.mark.parametrize(
    ('asked', 'more', 'expected'),
    [
        (shrinking_at_random(), {}, 'OK'),
        (shrinking_at_random(explain='full'), {}, 'OK'),
        (request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], ON_A_SERVER), {}, 'OK'),
        (request('CLUSTER_SCALE_OUT', [zone_policy('gone')]), {}, 'ERROR'),
        (bind(zone_policy('a')), {'method': 'policy_attach'}, 'OK'),
        (bind(zone_policy('a')), {'method': 'policy_detach'}, 'OK'),
        (rebalance(RANDOM, HELD, **AGED), {'method': 'policy_rebalance'}, 'OK'),
        (rebalance(GONE, HELD, **AGED), {'method': 'policy_rebalance'}, 'ERROR'),
        # A request expires on replay if it had expired, whatever the time is.
        (shrinking_at_random(expires_at='2026-01-01T11:59:59Z'), AT_NOON, 'Request expired'),
        (shrinking_at_random(expires_at='2026-01-01T12:00:01Z'), AT_NOON, 'Candidates generated'),
        # The recorded limit applies, and the recorded home region.
        (request('CLUSTER_SCALE_OUT', [zone_policy('a')], nodes(a=2), inputs={'count': 2}),
         {'limits': lambda: Limits(nodes_per_cluster=3)}, 'ERROR'),
        *((request(action, BY_REGION, nodes(a=2, b=1), inputs={'count': 2}),
           {'cloud': TWO_REGIONS}, 'OK') for action in ('CLUSTER_SCALE_IN', 'CLUSTER_SCALE_OUT')),
    ],
)  # fmt: skip
def test_replay_gives_the_same_reply_without_a_cloud(decide, registry, asked, more, expected):
    """A decision is replayed from its record alone, to the byte."""
    line, reply = decide(asked, **more)

    outcome = reply if 'status' in reply else reply['action']['data']
    assert expected in (outcome['status'], outcome['reason'])
    assert entry(line).method == more.get('method', 'policy_check')
    assert replay.differences(entry(line), registry) == []


@pytest.mark.parametrize('method', ['acting_for', 'zones'])
def test_replay_of_a_failed_cloud_fails_again(decide, registry, monkeypatch, method):
    """An error of the cloud is raised again on replay."""

    def fail(*arguments):
        raise errors.CloudUnavailable('Nova is away', {'attempts': 4})

    monkeypatch.setattr(Inventory, method, fail)

    line, reply = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a')]))

    assert reply['action']['data']['reason'] == 'Nova is away'
    assert replay.differences(entry(line), registry) == []


def test_decision_by_zone_alone_asks_for_no_home_region(decide):
    """Logs that were written before there was a home region can still be replayed."""
    line, _ = decide(request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=2, b=1)))

    assert {answer['asked'] for answer in json.loads(line)['cloud']} == {'acting_for', 'zones'}


def life(lab):
    """A cluster gets a load balancer, grows, shrinks and loses it again; the lines of the log."""
    endpoints, lines = recorded(lab)
    policy, members = load_balancing_policy(), [connected(1), connected(2)]
    attached = endpoints.policy_attach(bind(policy, members, expires_at=lab.clock.after(200)))
    bound = {**policy, 'data': attached['policy']['data']}
    members = [*patched(members, attached), connected(3), connected(4)]
    created = {'creation': {'count': 2, 'nodes': ['n3', 'n4']}}
    grow = request('CLUSTER_SCALE_OUT', [bound], members, target='AFTER', data=created)
    shrink = request('CLUSTER_SCALE_IN', [bound, deletion_policy()], members, inputs={'count': 2})
    endpoints.policy_check({**grow, 'dry_run': True})
    endpoints.policy_check({**grow, 'expires_at': lab.clock.after(100)})
    endpoints.policy_check(shrink)
    endpoints.policy_detach(bind(bound, members))
    return lines


def test_replay_of_load_balancing_calls_no_octavia_and_does_not_wait(registry):
    """Load balancing is replayed without Octavia and without sleeping."""
    lines = life(Lab())

    entries = list(map(entry, lines))
    methods = ['policy_attach', *['policy_check'] * 3, 'policy_detach']
    assert [one.method for one in entries] == methods
    assert all(one.clock for one in entries)
    assert len(entries[0].left_s) > 1
    assert [replay.differences(one, registry) for one in entries] == [[]] * 5


def test_replay_of_a_health_floor_uses_the_recorded_statuses(registry):
    """Victims are spared by the statuses of the record, so the replay gives the same reply."""
    lab = Lab(member_status={'10.0.0.1': 'ERROR'})
    policy, members = lab.attached(
        [connected(n) for n in range(1, 5)], version='1.4', min_online='50%', health_monitor={}
    )
    endpoints, lines = recorded(lab)
    victims = {'deletion': {'count': 3, 'candidates': ['n1', 'n2', 'n3']}}

    reply = endpoints.policy_check(request('CLUSTER_SCALE_IN', [policy], members, data=victims))

    assert reply['action']['data']['deletion']['candidates'] == ['n1', 'n2']
    assert replay.differences(entry(lines[0]), registry) == []


@pytest.mark.parametrize('status', [409, 429, 500, 503, None])
def test_replay_of_any_failure_of_octavia_gives_the_same_reply(registry, status):
    """A failure of Octavia at any call is replayed with the same reply."""
    life(whole := Lab(pending_s=7))

    for number in range(len(whole.calls)):
        lab = Lab(pending_s=7)

        def fail(call, lab=lab, number=number):
            if len(lab.calls) == number + 1:
                raise ApiError(
                    'Load balancer is immutable', status, retry_after_s=3 if status == 429 else None
                )
            return call.act()

        lab.around = fail
        for line in life(lab):
            assert replay.differences(entry(line), registry) == []


def changed(line, **fields):
    return entry(msgspec.json.encode({**json.loads(line), **fields}))


def test_differences_name_each_path(decide, registry):
    """Each difference has its path and both values."""
    line, _ = decide(GROWING)
    reply = json.loads(line)['reply']
    reply['action']['data']['creation']['zones'] = {'a': 3}
    reply['action']['data']['placement']['placements'].append({'zone': 'a'})
    reply['decisions'][0]['reason'] = 'as before'
    reply['decisions'][0]['elapsed_ms'] = 99.9

    found = replay.differences(changed(line, reply=reply), registry)

    assert found == [
        Difference('$.action.data.creation.zones.a', 3, 2),
        Difference('$.action.data.creation.zones.b', '(nothing)', 1),
        Difference('$.action.data.placement.placements[3]', {'zone': 'a'}, '(nothing)'),
        Difference('$.decisions[0].reason', 'as before', '3 nodes go to 2 zones'),
    ]


@pytest.mark.parametrize(
    ('change', 'difference'),
    [
        (lambda reply: reply.update(action=dict(reversed(reply['action'].items()))),
         ('$ (the same in another order)',)),
        (lambda reply: reply['action']['data']['creation'].update(count=3.0),
         ('$.action.data.creation.count', 3.0, 3)),
    ],
)  # fmt: skip
def test_differences_include_order_and_type(decide, registry, change, difference):
    """Another order of keys and another type of a value are differences."""
    reply = json.loads(decide(GROWING)[0])['reply']
    change(reply)

    (found,) = replay.differences(changed(decide(GROWING)[0], reply=reply), registry)

    assert (found.at, found.was, found.now)[: len(difference)] == difference


UNKNOWN_TYPE = {**zone_policy('a'), 'spec': {'type': 'gone', 'version': 1}}


@pytest.mark.parametrize(
    ('fields', 'error'),
    [
        ({'cloud': []}, 'NotRecorded'),
        ({'clock': []}, 'The clock is read more often than in the recorded decision'),
        ({'request': bind(UNKNOWN_TYPE)}, 'PolicyTypeNotFound'),
    ],
)
def test_differences_of_a_decision_that_needs_more_than_its_record(registry, fields, error):
    """A decision that needs a response, a reading or a policy that is not recorded differs."""
    (found,) = replay.differences(changed(life(Lab())[0], **fields), registry)

    assert error in found.now['error'].values()


@pytest.mark.parametrize('minutes', range(1, 8))
def test_replay_uses_the_recorded_time(decide, registry, minutes):
    """A decision has one time, which is recorded: a shortage is replayed to the byte later."""
    policies = [redistributing(region_policy('R1', 'R2')), redistributing(zone_policy('a', 'b'))]
    members = [refused(1, 'a', 'R1', minutes), node(3, physical_id='s1')]
    asked = request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': 3}, explain='full')
    clock = itertools.count()  # the shortage ends between two readings

    line, reply = decide(asked, now=lambda: NOW + datetime.timedelta(minutes=next(clock)))

    assert 'short of capacity' in json.dumps(reply)
    assert replay.differences(entry(line), registry) == []


def test_record_masks_secrets_and_replays_the_same(decide, registry):
    """No secret is recorded at any depth, and the decision is the same without secrets."""
    url = 'https://user:pw-1@host/'
    auth = {'X-Auth-Token': 'token-6', 'user_data': 'user-data-5'}
    deep = json.loads('{"a":' * 600 + '{"pwd": "pw-1"}' + '}' * 600)
    asked = shrinking_at_random(data={'admin_password': 'pw-2', 'auth': auth, 'deep': deep})
    asked['credentials'] = {'trust_id': 'trust-9'}
    asked['reply_to'] = {'exchange': 'e', 'topic': 't', 'method': 'pw_4'}
    asked['cluster']['profile']['properties'] = {'admin_pass': 'pw-3', 'user_data': 'user-data-5'}
    hooks = {'type': 'webhook', 'timeout': 1, 'params': {'url': url}}
    asked['policies'][2]['spec']['properties']['hooks'] = hooks

    line, reply = decide(asked)

    in_reply = [secret for secret in SECRETS if secret in json.dumps(reply)]
    assert in_reply == ['pw-1', 'pw-2', 'user-data-5', 'token-6']
    assert [secret for secret in SECRETS if secret in line.decode()] == []
    assert 'https://***@host/' in line.decode()
    assert {'credentials', 'reply_to'} & set(json.loads(line)['request']) == set()
    assert replay.differences(entry(line), registry) == []


def test_differences_of_an_answer_that_masking_changed(decide, registry):
    """A recorded response that masking made unusable is a difference."""
    addresses = {'trusted': [{'addr': '10.0.0.1', 'version': 4}]}
    servers = {'s1': {'availability_zone': 'b', 'addresses': addresses}}
    asked = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], ON_A_SERVER)
    line, _ = decide(asked, Inventory.parse({**CLOUD, 'servers': servers}, 'test'))

    (found,) = replay.differences(entry(line), registry)

    message = 'The recorded response is incomplete: Expected `int`, got `str`'
    assert found.now['error']['message'].startswith(message)


def test_replay_of_masked_names_gives_the_same_reply(decide, registry):
    """Names that look like secrets do not change a replay."""
    new = {'id': 'token-server', 'data': {'note': 'x'}}

    line, _ = decide(request('NODE_CREATE', [zone_policy('a')], node=new))

    assert json.loads(line)['reply']['nodes']['token-server']['data']['note'] == '***'
    assert replay.differences(entry(line), registry) == []


def test_differences_of_a_record_that_was_masked_less_are_none(decide, registry):
    """A value that is masked only since an upgrade is not a difference."""
    new = {'id': 'n1', 'data': {'db_pass': 'pw-2'}}
    line, _ = decide(request('NODE_CREATE', [zone_policy('a')], node=new))
    older = json.loads(line)
    older['request']['action']['node']['data'] = {'db_pass': 'pw-2'}
    older['reply']['nodes']['n1']['data']['db_pass'] = 'pw-2'

    assert replay.differences(entry(json.dumps(older).encode()), registry) == []
