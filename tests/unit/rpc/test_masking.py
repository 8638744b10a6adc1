"""Secrets in free-form data are masked by their names and by what texts look like; innocent words are not."""

import base64
import json
import time

import pytest

from placement_worker.rpc.masking import MASK, masked

BASIC = base64.b64encode(b'user:s1').decode()


def mask(data):
    """Return the data as a log line would hold it."""
    return json.loads(masked(json.dumps(data).encode()))


@pytest.mark.parametrize(
    'key',
    [
        'pass', 'PASS', 'Pass', 'db_pass', 'DB_PASS', 'db-pass', 'dbPass', 'pass_1', 'os.pass', 'ssh_key', 'sshKey',
        'SSH-KEY', 'ssh_keys', 'aws_access_key', 'password', 'adminPass',
    ],
)  # fmt: skip
def test_masked_with_the_name_of_a_secret_hides_its_value(key):
    """A secret is hidden by its name, however the words of the name are joined."""
    assert mask({key: 's1'}) == {key: MASK}


@pytest.mark.parametrize(
    'key',
    ['compass', 'bypass', 'passive', 'keyboard', 'passed_over', 'encompass', 'Passenger', 'PASSIVE', 'key', 'monkey',
     'key_name', 'underpass', 'BYPASS', 'basic'],
)  # fmt: skip
def test_masked_with_an_innocent_name_keeps_its_value(key):
    """A word is not secret for a part of it."""
    data = {key: 's1', 'password': 's2'}

    assert mask({key: 's1'}) == {key: 's1'}
    assert mask(data) == {key: 's1', 'password': MASK}


@pytest.mark.parametrize(
    ('pair', 'shown'),
    [
        ({'name': 'OS_PASSWORD', 'value': 's1'}, {'name': 'OS_PASSWORD', 'value': MASK}),
        ({'key': 'db_pass', 'value': 's1'}, {'key': 'db_pass', 'value': MASK}),
        ({'Key': 'token', 'Value': {'a': ['s1']}}, {'Key': 'token', 'Value': {'a': [MASK]}}),
        ({'name': 'OS_REGION', 'value': 'R1'}, {'name': 'OS_REGION', 'value': 'R1'}),
        ({'name': 'token-server', 'weight': 5}, {'name': 'token-server', 'weight': 5}),
        ({'name': 7, 'value': 'R1'}, {'name': 7, 'value': 'R1'}),
    ],
)
def test_masked_with_a_pair_of_name_and_value_hides_the_value_of_a_secret(pair, shown):
    """Environment lists hide their secrets."""
    assert mask({'environment': [pair]}) == {'environment': [shown]}


@pytest.mark.parametrize(
    ('text', 'shown'),
    [
        ('Bearer abc.def', f'Bearer {MASK}'),
        ('Authorization: bearer abc.def, then', f'Authorization: bearer {MASK}, then'),
        (f'Basic {BASIC}', f'Basic {MASK}'),
        ('Basic settings are kept', 'Basic settings are kept'),
        ('tool --password s1 --zone az1', f'tool --password {MASK} --zone az1'),
        ('tool --password=s1 --zone=az1', f'tool --password={MASK} --zone=az1'),
        ('tool --db-pass "s 1" go', f'tool --db-pass {MASK} go'),
        ('run tool -os_token s1', f'run tool -os_token {MASK}'),
        ('OS_PASSWORD=s1 OS_REGION=R1 tool', f'OS_PASSWORD={MASK} OS_REGION=R1 tool'),
        ('OS_PASS=s1', f'OS_PASS={MASK}'),
        ('X-Auth-Token: s1', f'X-Auth-Token: {MASK}'),
        ('{"db_password": "s1", "a": "b"}', f'{{"db_password": {MASK}, "a": "b"}}'),
        ('cmd: password=s1', f'cmd: password={MASK}'),
        ('chpasswd:\n  password: s1\n', f'chpasswd:\n  password: {MASK}\n'),
        ('bypass=1 compass: north passive: yes', 'bypass=1 compass: north passive: yes'),
        ('the password is not in here', 'the password is not in here'),
    ],
)
def test_masked_with_a_secret_inside_a_text_hides_it_and_keeps_the_rest(text, shown):
    """Headers, settings and arguments in a text hide their secrets."""
    assert mask({'command': text}) == {'command': shown}


def test_masked_with_a_list_of_arguments_hides_what_follows_a_secret_flag():
    """Arguments that stand one by one are masked like a command line."""
    assert mask(['tool', '--password', 's1', '--zone', 'az1']) == ['tool', '--password', MASK, '--zone', 'az1']
    assert mask(['--password=s1', 'az1']) == [f'--password={MASK}', 'az1']


@pytest.mark.parametrize(
    'part', ['token', 'password=', 'bearer ', 'basic ', '--pass ', '"pass":"', 'pass', 'a://', 'x']
)
def test_masked_with_a_long_hostile_text_takes_linear_time(part):
    """No text makes the log slow."""
    started = time.process_time()

    mask({'text': part * (400_000 // len(part)) + ' =token'})

    assert time.process_time() - started < 20
