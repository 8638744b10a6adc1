"""Masking of secrets in free-form data, by their names and inside texts."""

import base64
import json
import time

import pytest

from placement_worker.decisions.masking import MASK, masked

BASIC = base64.b64encode(b'user:s1').decode()


def mask(data):
    """Return the data as a log line would hold it."""
    return json.loads(masked(json.dumps(data).encode()))


@pytest.mark.parametrize(
    'key',
    [
        'compass', 'bypass', 'passive', 'keyboard', 'passed_over', 'encompass', 'Passenger',
        'PASSIVE', 'key', 'monkey', 'key_name', 'underpass', 'BYPASS', 'basic', 'auth_url',
        'os-auth-type', 'author', 'unauthorized', 'upward',
    ],
)  # fmt: skip
def test_masked_with_an_innocent_name_keeps_its_value(key):
    """An innocent name that contains a word such as `pass` keeps its value."""
    data = {key: 's1', 'password': 's2'}

    assert mask({key: 's1'}) == {key: 's1'}
    assert mask(data) == {key: 's1', 'password': MASK}


@pytest.mark.parametrize(
    ('pair', 'shown'),
    [
        ({'name': 'OS_PASSWORD', 'value': 's1'}, {'name': 'OS_PASSWORD', 'value': MASK}),
        ({'NAME': 'OS_PASSWORD', 'VALUE': 's1'}, {'NAME': 'OS_PASSWORD', 'VALUE': MASK}),
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
        ('chpasswd:\n  password:\n    s1\nzone: az1',
         f'chpasswd:\n  password:\n    {MASK}\nzone: az1'),
        ('password: |\n  s1\nzone: az1', f'password: |\n  {MASK}\nzone: az1'),
        ('OS_PASSWORD = "s\\"1 s2" go', f'OS_PASSWORD = {MASK} go'),
        ("password: 's''1 s2' go", f'password: {MASK} go'),
        ('password="s1 s2', f'password={MASK}'),
        (r'run {\"password\": \"s 1\", \"a\": 1}', rf'run {{\"password\": {MASK}, \"a\": 1}}'),
        (r'run {\"password\": \"s\\\"1\", \"a\": 1}', rf'run {{\"password\": {MASK}, \"a\": 1}}'),
        ('pw=s1 --auth s2 --auth-url x auth=s3',
         f'pw={MASK} --auth {MASK} --auth-url x auth={MASK}'),
        ("-H 'Cookie: a=s1; b=s2' go", f"-H 'Cookie: {MASK}' go"),
        ("-H 'Authorization: s1' go", f"-H 'Authorization: {MASK}' go"),
        ('Authorization: Token s1 go', f'Authorization: Token {MASK} go'),
        ('a\n-----BEGIN RSA PRIVATE KEY-----\ns1\ns2\n-----END RSA PRIVATE KEY-----\nb',
         f'a\n-----BEGIN RSA PRIVATE KEY-----{MASK}-----END RSA PRIVATE KEY-----\nb'),
        ('-----BEGIN PRIVATE KEY-----\ns1', f'-----BEGIN PRIVATE KEY-----{MASK}'),
        ('mysql+pymysql://root:s#1@h/db', f'mysql+pymysql://{MASK}@h/db'),
        ('see amqp://root:s/1@2?@h:5672/ or http://h:80/a@b',
         f'see amqp://{MASK}@h:5672/ or http://h:80/a@b'),
        ('https://user:s1@h/a', f'https://{MASK}@h/a'),
        ('https://user:p@w@host/', f'https://{MASK}@host/'),
        ('https://host/hook?token=s1', f'https://host/hook?token={MASK}'),
        ('https://host/?V=2&api_key=s1&n=1#access_token=s2',
         f'https://host/?V=2&api_key={MASK}&n=1#access_token={MASK}'),
        ('https://host?mail=a@b', 'https://host?mail=a@b'),
        ('the password is not in here', 'the password is not in here'),
    ],
)  # fmt: skip
def test_masked_with_a_secret_inside_a_text_hides_it_and_keeps_the_rest(text, shown):
    """Headers, settings and arguments in a text hide their secrets."""
    assert mask({'command': text}) == {'command': shown}


def test_masked_with_a_list_of_arguments_hides_what_follows_a_secret_flag():
    """A list of arguments is masked like a command line."""
    found = mask(['tool', '--password', 's1', '--zone', 'az1'])

    assert found == ['tool', '--password', MASK, '--zone', 'az1']
    assert mask(['--password=s1', 'az1']) == [f'--password={MASK}', 'az1']


@pytest.mark.parametrize(
    'part',
    [
        'token', 'password=', 'bearer ', 'basic ', '--pass ', '"pass":"', 'pass', 'a://', 'a://b:',
        'x', r'\"pw\":\"', 'pass="\\', 'pw:\n ', '-----BEGIN PRIVATE KEY-----', 'cookie: ',
        'authorization:',
    ],
)  # fmt: skip
def test_masked_with_a_long_hostile_text_takes_linear_time(part):
    """No text makes the log slow."""
    started = time.process_time()

    mask({'text': part * (400_000 // len(part)) + ' =token'})

    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    'key',
    [
        'pass', 'PASS', 'Pass', 'db_pass', 'DB_PASS', 'db-pass', 'dbPass', 'pass_1', 'os.pass',
        'ssh_key', 'sshKey', 'SSH-KEY', 'ssh_keys', 'aws_access_key', 'pw', 'DB_PW', 'dbPw',
        'auth', 'basic_auth', 'httpAuth', 'AUTH', 'authorization', 'Authorization', 'cookie',
        'Set-Cookie', 'password', 'adminPassword', 'SECRET', 'trust_id', 'x-auth-token',
        'privateKey',
        'api_key', 'apikey', 'X-Api-Key', 'pwd', 'DB_PWD', 'adminPass', 'passphrase', 'user-data',
    ],
)  # fmt: skip
def test_masked_with_the_name_of_a_secret_hides_its_values_at_any_depth(key):
    """A text or a number is masked, however the words of the name are joined."""
    assert mask({'a': [{key: 's1', 'b': 1}]}) == {'a': [{key: MASK, 'b': 1}]}
    values = mask({key: {'a': ['s1', 2, 2.5, None, True, '']}})
    assert values == {key: {'a': [MASK] * 3 + [None, True, '']}}
