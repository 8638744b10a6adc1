"""Decisions are logged without secrets, and decided again to the byte."""

import copy
import datetime
import gzip
import json
import math
import os
import threading

import msgspec
import pytest

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import ApiError, OctaviaSettings
from placement_worker.contract.limits import Limits
from placement_worker.contract.model import CheckRequest
from placement_worker.decisions import replay
from placement_worker.decisions.log_file import LogFile
from placement_worker.decisions.masking import masked
from placement_worker.decisions.records import DecisionLog, Entry
from placement_worker.decisions.replay import Difference
from placement_worker.handlers.conditions import Conditions
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies.registry import Registry
from tests.factories import (
    balancing_policy,
    bind,
    connected,
    deletion_policy,
    node,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.simulated_octavia import Lab, patched

CLOUD = {
    'zones': {'a': True, 'b': True},
    'regions': ['R1', 'R2'],
    'servers': {'s1': {'availability_zone': 'b'}},
    'networks': {'private': {'id': 'net1'}},
    'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private'}},
}
NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
SECRETS = ('trust-9', 'pw-1', 'pw-2', 'pw-3', 'pw_4', 'user-data-5', 'token-6')


@pytest.fixture
def decide(registry):
    """Decide a request over a cloud; returns its line in the log and the reply."""

    def decided(asked, cloud=None, method='policy_check', **more):
        lines = []
        recorder = DecisionLog(lines.append)
        clouds = cloud or Inventory.parse(CLOUD, 'test')
        reply = getattr(Endpoints(clouds, registry, recorder=recorder, **more), method)(
            asked, 'req-1'
        )
        (line,) = lines
        return line, reply

    return decided


def entry(line):
    return msgspec.json.decode(line, type=Entry)


def shrinking(**more):
    members = [*nodes(a=2, b=1), node(4, physical_id='s1')]
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy('RANDOM')]
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': 2}, **more)


def test_a_line_holds_request_answers_version_and_reply(decide):
    line, reply = decide(shrinking())

    logged = json.loads(line)
    assert line.endswith(b'\n')
    assert line.count(b'\n') == 1
    assert list(logged) == list(Entry.__struct_encode_fields__)
    assert (logged['request_id'], logged['method'], logged['max_nodes']) == (
        'req-1',
        'policy_check',
        1000,
    )
    assert logged['reply'] == reply
    assert logged['request']['cluster']['nodes'][3]['physical_id'] == 's1'
    assert logged['cloud'][:3] == [
        {'asked': 'acting_for', 'of': ['p1'], 'answer': None},
        {'asked': 'home_region', 'of': [], 'answer': None},
        {'asked': 'regions', 'of': [], 'answer': ['R1', 'R2']},
    ]


def test_zones_and_servers_that_were_asked_for_are_answers(decide):
    asked = request(
        'CLUSTER_SCALE_IN', [zone_policy('a', 'b')], [*nodes(a=1), node(2, physical_id='s1')]
    )

    line, _ = decide(asked)

    asked_for = {answer['asked']: answer for answer in json.loads(line)['cloud']}
    server = {'OS-EXT-AZ:availability_zone': 'b', 'addresses': {}}
    assert asked_for['zones'] == {'asked': 'zones', 'of': [None], 'answer': {'a': True, 'b': True}}
    assert asked_for['servers'] == {
        'asked': 'servers',
        'of': [None, ['s1']],
        'answer': {'s1': server},
    }


def test_a_decision_is_replayed_without_the_cloud_and_is_the_same(decide, registry):
    for asked in (
        shrinking(),
        shrinking(explain='full'),
        request(
            'CLUSTER_SCALE_IN', [zone_policy('a', 'b')], [*nodes(a=1), node(2, physical_id='s1')]
        ),
        request('CLUSTER_SCALE_OUT', [zone_policy('gone')]),
    ):
        line, _ = decide(asked)

        assert replay.differences(entry(line), registry) == []


def test_attaching_is_replayed_too(decide, registry):
    asked = {'cluster': request('CLUSTER_UPDATE', [])['cluster'], 'policy': zone_policy('a')}

    for method in ('policy_attach', 'policy_detach'):
        line, reply = decide(asked, method=method)

        assert reply['status'] == 'OK'
        assert entry(line).method == method
        assert replay.differences(entry(line), registry) == []


def test_a_request_expires_on_replay_as_it_did_whatever_the_time_is_now(decide, registry):
    late = shrinking(expires_at='2026-01-01T11:59:59Z')
    early = shrinking(expires_at='2026-01-01T12:00:01Z')

    for asked, reason in ((late, 'Request expired'), (early, 'Candidates generated')):
        line, reply = decide(asked, now=lambda: NOW)

        assert reply['action']['data']['reason'] == reason
        assert replay.differences(entry(line), registry) == []


def test_the_limit_of_then_counts(decide, registry):
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], nodes(a=2), inputs={'count': 2})

    line, reply = decide(asked, limits=lambda: Limits(nodes_per_cluster=3))

    assert reply['action']['data']['status'] == 'ERROR'
    assert replay.differences(entry(line), registry) == []


class Broken:
    """A cloud whose Nova is away."""

    def acting_for(self, credentials, project):
        return self

    def zones(self, region):
        raise errors.CloudUnavailable('Nova is away', {'attempts': 4})


class Refusing:
    """A cloud that lets nobody in."""

    def acting_for(self, credentials, project):
        raise errors.CloudUnavailable(f'No access to project {project}')


@pytest.mark.parametrize(
    ('cloud', 'reason'), [(Broken(), 'Nova is away'), (Refusing(), 'No access to project p1')]
)
def test_a_cloud_that_failed_fails_again(decide, registry, cloud, reason):
    line, reply = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a')]), cloud)

    assert reply['action']['data']['reason'] == reason
    assert replay.differences(entry(line), registry) == []


@pytest.mark.parametrize('action', ['CLUSTER_SCALE_IN', 'CLUSTER_SCALE_OUT'])
def test_decision_over_nodes_of_the_home_region_is_replayed(decide, registry, action):
    """The home region and the zones of all listed regions are recorded, so the decision can be
    repeated.
    """
    zones = {'zones': {'a': True, 'b': True}}
    cloud = Inventory.parse({'regions': {'R1': zones, 'R2': zones}, 'home_region': 'R2'}, 'test')
    policies = [region_policy('R1', 'R2'), zone_policy('a', 'b'), deletion_policy()]

    line, reply = decide(request(action, policies, nodes(a=2, b=1), inputs={'count': 2}), cloud)

    assert reply['action']['data']['status'] == 'OK'
    assert {'asked': 'home_region', 'of': [], 'answer': 'R2'} in json.loads(line)['cloud']
    assert replay.differences(entry(line), registry) == []


def test_decision_by_zone_alone_asks_for_no_home_region(decide):
    """Logs of checks by zone alone, written before there was a home region, can still be
    replayed.
    """
    line, _ = decide(request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=2, b=1)))

    assert {answer['asked'] for answer in json.loads(line)['cloud']} == {'acting_for', 'zones'}


def recorded(lab):
    """The endpoints of a lab, and the lines that they log."""
    lines = []
    endpoints = Endpoints(
        lab,
        Registry.installed(),
        recorder=DecisionLog(lines.append),
        octavia_settings=lambda: OctaviaSettings(lab.batch_members, sleep=lab.clock.sleep, clock=lab.clock),
        now=lambda: datetime.datetime.fromtimestamp(lab.clock(), datetime.UTC),
    )
    return endpoints, lines


def life(lab):
    """A cluster gets a load balancer, grows, shrinks and loses it again; the lines of the log."""
    endpoints, lines = recorded(lab)
    policy, members = balancing_policy(), [connected(1), connected(2)]
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


def test_load_balancers_are_replayed_without_octavia_and_without_waiting(registry):
    lines = life(Lab())

    entries = list(map(entry, lines))
    assert [one.method for one in entries] == [
        'policy_attach',
        *['policy_check'] * 3,
        'policy_detach',
    ]
    assert [len(one.clock) > 0 for one in entries] == [True] * 5
    assert len(entries[0].left_s) > 1
    assert [replay.differences(one, registry) for one in entries] == [[]] * 5


@pytest.mark.parametrize('status', [409, 429, 500, 503, None])
def test_whatever_octavia_did_at_any_call_is_replayed(registry, status):
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


def test_a_decision_that_waits_longer_than_then_is_a_difference(registry):
    line = life(Lab())[0]

    (shorter,) = replay.differences(changed(line, clock=json.loads(line)['clock'][:2]), registry)

    assert shorter.now['error']['message'] == (
        'The clock is read more often than in the recorded decision'
    )


def changed(line, **fields):
    return entry(msgspec.json.encode({**json.loads(line), **fields}))


def test_every_difference_is_named_with_its_path(decide, registry):
    line, _ = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 3}))
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


def test_another_order_and_another_type_are_differences_too(decide, registry):
    line, _ = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a', 'b')], inputs={'count': 3}))
    logged = json.loads(line)['reply']
    turned = {**logged, 'action': dict(reversed(logged['action'].items()))}
    numbers = copy.deepcopy(logged)
    numbers['action']['data']['creation']['count'] = 3.0

    (order,) = replay.differences(changed(line, reply=turned), registry)
    (kind,) = replay.differences(changed(line, reply=numbers), registry)

    assert order.at == '$ (the same in another order)'
    assert kind == Difference('$.action.data.creation.count', 3.0, 3)


def test_a_decision_that_needs_other_answers_or_another_policy_is_a_difference(decide, registry):
    line, _ = decide(request('CLUSTER_SCALE_OUT', [zone_policy('a')]))
    other = request(
        'CLUSTER_SCALE_OUT', [{**zone_policy('a'), 'spec': {'type': 'gone', 'version': 1}}]
    )

    (asked,) = replay.differences(changed(line, cloud=[]), registry)
    (policy,) = replay.differences(changed(line, request=other), registry)

    assert asked.now['error']['type'] == 'NotRecorded'
    assert policy.now['error']['type'] == 'PolicyTypeNotFound'


def test_no_secret_reaches_the_log_and_the_decision_is_the_same_without_them(decide, registry):
    url = 'https://user:pw-1@host/'
    asked = shrinking(
        data={
            'admin_password': 'pw-2',
            'auth': {'X-Auth-Token': 'token-6', 'user_data': 'user-data-5'},
        }
    )
    asked['credentials'] = {'trust_id': 'trust-9'}
    asked['reply_to'] = {'exchange': 'e', 'topic': 't', 'method': 'pw_4'}
    asked['cluster']['profile']['properties'] = {'admin_pass': 'pw-3', 'user_data': 'user-data-5'}
    hooks = {'type': 'webhook', 'timeout': 1, 'params': {'url': url}}
    asked['policies'][2]['spec']['properties']['hooks'] = hooks

    line, reply = decide(asked)

    assert [secret for secret in SECRETS if secret in json.dumps(reply)] == [
        'pw-1',
        'pw-2',
        'user-data-5',
        'token-6',
    ]
    assert [secret for secret in SECRETS if secret in line.decode()] == []
    assert 'https://***@host/' in line.decode()
    assert {'credentials', 'reply_to'} & set(json.loads(line)['request']) == set()
    assert replay.differences(entry(line), registry) == []


@pytest.mark.parametrize(
    'key',
    [
        'password', 'adminPassword', 'SECRET', 'trust_id', 'x-auth-token', 'privateKey', 'api_key', 'apikey',
        'X-Api-Key', 'pwd', 'DB_PWD', 'adminPass', 'passphrase', 'user-data',
    ],
)  # fmt: skip
def test_a_text_or_number_is_masked_by_its_name_at_any_depth(key):
    assert json.loads(masked(json.dumps({'a': [{key: 's1', 'b': 1}]}).encode())) == {
        'a': [{key: '***', 'b': 1}]
    }
    secret = {key: {'a': ['s1', 2, 2.5, None, True, '']}}
    assert json.loads(masked(json.dumps(secret).encode())) == {
        key: {'a': ['***'] * 3 + [None, True, '']}
    }


@pytest.mark.parametrize(
    ('url', 'shown'),
    [
        ('https://user:pw@host/', 'https://***@host/'),
        ('https://user:p@w@host/', 'https://***@host/'),
        ('https://host/hook?token=s1', 'https://host/hook?token=***'),
        (
            'https://host/?V=2&api_key=s1&n=1#access_token=s2',
            'https://host/?V=2&api_key=***&n=1#access_token=***',
        ),
        ('https://host?mail=a@b', 'https://host?mail=a@b'),
    ],
)
def test_user_and_password_and_secret_parameters_of_an_address_are_masked(url, shown):
    assert json.loads(masked(json.dumps({'url': url}).encode())) == {'url': shown}


def test_secrets_beside_what_is_nested_deeply_are_masked_too(decide, registry):
    deep = json.loads('{"a":' * 600 + '{"pwd": "pw-1"}' + '}' * 600)
    asked = shrinking(data={'admin_password': 'pw-2', 'deep': deep})

    line, _ = decide(asked)

    assert [secret for secret in SECRETS if secret in line.decode()] == []
    assert replay.differences(entry(line), registry) == []


def test_record_that_cannot_be_encoded_is_reported_and_raises_nothing(caplog):
    """A decision that cannot be recorded is reported in the log; its caller gets the reply."""
    lines, deep = [], {}
    for _ in range(100_000):
        deep = {'a': deep}
    asked = msgspec.convert(request('NODE_CREATE', []), CheckRequest)

    conditions = Conditions(Inventory(), OctaviaSettings(), 1, left_s=lambda: math.inf)
    record = DecisionLog(lines.append).begin('req-1', NOW, conditions)
    record.end('policy_check', asked, deep)

    assert lines == []
    assert 'Failed to record the decision of request req-1: ' in caplog.text


def test_an_answer_that_masking_has_spoilt_is_a_difference(decide, registry):
    servers = {
        's1': {
            'availability_zone': 'b',
            'addresses': {'trusted': [{'addr': '10.0.0.1', 'version': 4}]},
        }
    }
    asked = request(
        'CLUSTER_SCALE_IN', [zone_policy('a', 'b')], [*nodes(a=1), node(2, physical_id='s1')]
    )
    line, _ = decide(asked, Inventory.parse({**CLOUD, 'servers': servers}, 'test'))

    (found,) = replay.differences(entry(line), registry)

    assert found.now['error']['message'].startswith(
        'The recorded answer is incomplete: Expected `int`, got `str`'
    )


def test_a_name_that_looks_secret_changes_no_replay(decide, registry):
    asked = request(
        'NODE_CREATE', [zone_policy('a')], node={'id': 'token-server', 'data': {'note': 'x'}}
    )

    line, _ = decide(asked)

    assert json.loads(line)['reply']['nodes']['token-server']['data']['note'] == '***'
    assert replay.differences(entry(line), registry) == []


def test_a_log_of_a_version_that_masked_less_is_replayed_without_differences(decide, registry):
    """A value that is masked only since an upgrade is not a difference."""
    line, _ = decide(
        request('NODE_CREATE', [zone_policy('a')], node={'id': 'n1', 'data': {'db_pass': 'pw-2'}})
    )
    older = json.loads(line)
    older['request']['action']['node']['data'] = {'db_pass': 'pw-2'}
    older['reply']['nodes']['n1']['data']['db_pass'] = 'pw-2'

    assert replay.differences(entry(json.dumps(older).encode()), registry) == []


def test_lines_of_a_log_are_read_also_compressed_and_bad_ones_say_what_is_wrong(decide, tmp_path):
    line, _ = decide(shrinking())
    plain, compressed = tmp_path / 'log', tmp_path / 'log.1.gz'
    plain.write_bytes(line + b'\n{"at": \n' + line)
    compressed.write_bytes(gzip.compress(line))

    found = dict(replay.entries(str(plain)))

    assert list(found) == [1, 3, 4]
    assert isinstance(found[3], errors.InvalidRequest)
    assert found[1].request_id == found[4].request_id == 'req-1'
    assert [number for number, _ in replay.entries(str(compressed))] == [1]


def test_lines_of_processes_and_threads_stay_whole(tmp_path):
    path = tmp_path / 'log'
    files = [
        LogFile(str(path)) for _ in range(2)
    ]  # as of two processes: each has a descriptor of its own
    lines = {f'{n}-'.encode() + b'x' * 20000 + b'\n' for n in range(200)}
    turns = [list(lines)[i::4] for i in range(4)]

    writers = [
        threading.Thread(target=lambda i=i: [files[i % 2].append(line) for line in turns[i]])
        for i in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert set(path.read_bytes().splitlines(keepends=True)) == lines


def test_the_file_is_for_owner_and_group_and_is_made_anew_when_it_was_moved(tmp_path):
    path = tmp_path / 'log'
    before = os.umask(0o022)
    log = LogFile(str(path))
    os.umask(before)
    log.append(b'1\n')
    path.rename(tmp_path / 'log.1')
    log.append(b'2\n')
    path.rename(tmp_path / 'log.2')
    path.write_bytes(b'another process made it\n')
    log.append(b'3\n')

    assert path.read_bytes() == b'another process made it\n3\n'
    assert [(tmp_path / f'log.{n}').read_bytes() for n in (1, 2)] == [b'1\n', b'2\n']
    assert (tmp_path / 'log.1').stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_gone_is_told_once_and_stops_nobody(tmp_path, caplog):
    folder = tmp_path / 'folder'
    folder.mkdir()
    log = LogFile(str(folder / 'log'))
    (folder / 'log').unlink()
    folder.rmdir()

    log.append(b'1\n')
    log.append(b'2\n')
    folder.mkdir()
    log.append(b'3\n')

    assert (folder / 'log').read_bytes() == b'3\n'
    assert [record.getMessage() for record in caplog.records] == [
        f'Failed to write the decision log: {folder / "log"}: No such file or directory',
        f'The decision log can be written again: {folder / "log"}',
    ]


def test_a_full_disk_is_told_and_stops_nobody(caplog):
    log = LogFile('/dev/full')

    log.append(b'1\n')

    assert 'Failed to write the decision log: ' in caplog.text


def test_a_log_that_cannot_be_made_is_an_error_at_once(tmp_path):
    with pytest.raises(OSError, match='No such file'):
        LogFile(str(tmp_path / 'none' / 'log'))
