"""The command `placement-policy check`."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import check
from placement_worker.contract import codec
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.contract.rpc import Limits
from placement_worker.errors import WorkerFailed
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry
from tests.factories import changed, deletion_policy, nodes, request, zone_policy
from tests.malformed_requests import GOOD, TABLE
from tests.unit.subprocesses import run_python

ROOT = Path(__file__).parents[3]
CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}
FAILING = request('CLUSTER_SCALE_OUT', [zone_policy('gone')])
CORRECT = '; correct the file and try again'


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'examples').glob('*.yaml')), ids=lambda path: path.name
)
def test_check_of_each_shipped_example_is_ok(run, path):
    """Each shipped request is decided over the shipped cloud."""
    if path.name == 'cloud.yaml':
        assert Inventory.load(str(path)).zones(None)
    else:
        command = 'rebalance' if path.name == 'rebalance.yaml' else 'check'
        assert run(command, str(path))[0] == 0


def test_check_with_explain_full_shows_victims_and_reasons(run):
    """A full explanation lists each victim with its reason."""
    asked = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b'), deletion_policy()], nodes(a=2, b=1))

    status, out, _ = run('check', 'f', '--explain', 'full', f=asked)

    assert (status, '    candidates: n1' in out, '    reasons: oldest 1' in out) == (0, True, True)
    assert '|    1 | n1 | a     | oldest in a | ACTIVE | no      |' in out
    assert '|    2 | n2 | a     | oldest | ACTIVE | no      |' in out


@pytest.mark.parametrize(
    ('asked', 'status'),
    [
        ([GOOD], 0),
        ([FAILING, GOOD], 1),
        ([FAILING, changed(GOOD, lambda r: r.pop('target')), GOOD], 2),
    ],
)
def test_check_of_several_documents_exits_with_the_worst_status(run, asked, status):
    """An invalid request stops no other request; replies keep the order of the requests."""
    code, out, err = run('check', 'f', '-f', 'yaml', f=yaml.safe_dump_all(asked))
    _, text, _ = run('check', 'f', '-f', 'json')

    replies = [reply['action']['data']['status'] for reply in yaml.safe_load_all(out)]
    assert (code, replies) == (status, ['ERROR'] * bool(status) + ['OK'])
    array = json.loads(text) if len(asked) > 1 else [json.loads(text)]
    assert [reply['action']['data']['status'] for reply in array] == replies
    if status == 2:
        assert err.startswith(
            'placement-policy check: f:23:1: Object missing required field `target` - at `$`'
            f'{CORRECT}\n'
        )


NOT_UTF_8 = 'Expected JSON - at `$`: '
TWICE = 'Expected each key once, got `dry_run` twice'
UNKNOWN_INPUT = (
    'Unknown input of CLUSTER_SCALE_IN: "cuont" (did you mean "count"?) - at `$.action.inputs`'
)
NO_CLOUD = (
    'cloud does not describe a cloud: Object contains unknown field `zone`, expected one of '
    '`zones`, `regions`, `home_region`, `servers`, `networks`, `subnets`, `load_balancer` - at `$`'
)


@pytest.mark.parametrize('name', ['f', '-'])
def test_check_of_lines_replies_to_each_line(tmp_path, name):
    """Each JSON line gets one reply line, and an invalid line stops no other line."""
    own_cloud = {'request': FAILING, 'cloud': {'zones': {'gone': True}}}
    asked = {**GOOD, 'action': {**GOOD['action'], 'inputs': {'cuont': 1}}}
    key = 'Expected only keys of the contract, got `$.dryrun` (did you mean `dry_run`?)'
    rows = [
        ({'request': GOOD, 'cloud': CLOUD}, 'OK'),
        ('{', 'Expected JSON - at `$`: Input data was truncated'),
        ('', None),
        (FAILING, 'ERROR'),
        (own_cloud, 'OK'),
        ({**GOOD, 'dryrun': 1}, key),
        ('{"dry_run": false, "dry_run": true, ' + json.dumps(GOOD)[1:], TWICE),
        (asked, UNKNOWN_INPUT),
        ({'request': GOOD, 'cloud': {'zone': 1}}, NO_CLOUD),
        ({'request': GOOD, 'clod': {}}, 'Expected only `request` and `cloud`, got `clod`'),
        ('\udcff', NOT_UTF_8),
        ('{"request": {"target": "caf\udce9"}}', NOT_UTF_8),
        ('[]', 'Expected `object`, got `array` - at `$`'),
    ]
    text = '\n'.join(line if isinstance(line, str) else json.dumps(line) for line, _ in rows)
    (tmp_path / 'f').write_bytes(text.encode(errors='surrogateescape'))

    arguments = ('-m', 'placement_worker', 'check', '--lines', name)
    with open(tmp_path / 'f', 'rb') as stdin:
        done = run_python(*arguments, stdin=stdin, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, '')
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert set(replies[0]) == set(CheckReply.__struct_fields__)
    expected = [(n, result) for n, (_, result) in enumerate(rows, start=1) if result]
    for reply, (number, result) in zip(replies, expected, strict=True):
        if result in ('OK', 'ERROR'):
            assert reply['action']['data']['status'] == result
        elif result == NOT_UTF_8:
            assert (reply['error']['line'], result in reply['error']['message']) == (number, True)
        else:
            where = {'file': '<stdin>' if name == '-' else name, 'line': number}
            kind = 'InvalidInventory' if result.startswith('cloud') else 'InvalidRequest'
            assert reply == {'error': {'type': kind, 'message': result, **where}}


def test_check_of_lines_with_yaml_notes_the_mistake_once(run):
    """YAML input with --lines causes one note about the option."""
    status, out, err = run('check', '--lines', 'f', f='\n' + yaml.safe_dump(GOOD))

    note = 'f: the first line is not a JSON object; for YAML, omit --lines\n'
    assert (status, err) == (2, f'placement-policy check: {note}')
    assert {json.loads(line)['error']['type'] for line in out.splitlines()} == {'InvalidRequest'}


def test_check_of_lines_uses_the_error_messages_of_the_worker(run):
    """The command line and the worker report an invalid request in the same words."""
    rows = [row for row in TABLE if isinstance(row.sent, dict)]

    _, out, _ = run('check', '--lines', 'f', f='\n'.join(json.dumps(row.sent) for row in rows))

    assert [json.loads(line)['error'] for line in out.splitlines()] == [
        {'type': row.error, 'message': row.message, 'file': 'f', 'line': number}
        for number, row in enumerate(rows, start=1)
    ]


def test_input_that_a_policy_cannot_read_is_an_invalid_request_in_lines_and_in_files(run):
    """The same request has the same exit status, however it is given."""
    asked = request('CLUSTER_SCALE_OUT', [zone_policy('a')], [], inputs={'count': 'seven'})

    in_file = run('check', 'f', f=json.dumps(asked))
    in_lines = run('check', '--lines', 'f', f=json.dumps(asked))

    assert (in_file[0], in_lines[0]) == (2, 2)
    assert '- at `$.action.inputs.count`' in json.loads(in_lines[1])['error']['message']


def test_decode_json_with_an_error_before_deep_nesting_names_it():
    """An error before a deeply nested part is reported with its path."""
    deep = b'[' * 100_000 + b']' * 100_000

    with pytest.raises(errors.InvalidRequest, match=r'got `int` - at `\$.action.id`'):
        codec.decode_encoded(b'{"action": {"id": 1}, "x": ' + deep + b'}', CheckRequest)


def test_check_in_process_imports_neither_messaging_nor_openstack():
    """A check in this process imports no library for brokers, options or OpenStack."""
    libraries = {'oslo_messaging', 'kombu', 'oslo_config', 'keystoneauth1', 'openstack', 'requests'}
    code = (
        'import sys; from placement_worker.cmd.cli import main\n'
        'sys.argv = ["p", "check", "examples/scale-out.yaml"]\n'
        f'sys.exit(main() or bool({libraries} & {{name.split(".")[0] for name in sys.modules}}))'
    )

    assert run_python('-c', code, cwd=ROOT).returncode == 0


LINE_CLOUD = Inventory.parse({'zones': {'a': True, 'b': True}}, 'the cloud')
LINE = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b'), deletion_policy()], nodes(a=2, b=1))
TEXT = json.dumps(LINE)
ONCE = 'Expected each key once, got `{}` twice'
ZONES = '$.policies[0].spec.properties.zones'


@pytest.fixture
def caller():
    """A worker in this process."""
    return InProcessCaller(LINE_CLOUD, Registry.installed())


def _check(caller, asked, explain=None):
    text = asked if isinstance(asked, str) else json.dumps(asked)
    status, reply = check._check_line(caller, text.encode(), {}, explain)
    return status, json.loads(reply)


def _message(answer):
    return answer[1]['error']['message']


def test_check_of_a_valid_request_visits_no_key(caller, monkeypatch):
    """A valid request takes the fast path, which does not search for the words of errors."""
    monkeypatch.delattr(codec, 'errors_in')

    status, reply = _check(caller, LINE)

    assert (status, reply['action']['data']['status']) == (0, 'OK')


@pytest.mark.parametrize('cloud', [{}, {'cloud': {'zones': {'a': True}}}])
def test_check_of_a_line_with_several_errors_lists_all(caller, cloud):
    """The error of a line has the first error, as before, and the list of all errors."""
    wrong = [{'weight': 1}, {'nam': 'b'}]
    asked = changed(LINE, lambda r: r['policies'][0]['spec']['properties'].update(zones=wrong))
    status, reply = _check(caller, {'request': asked, **cloud} if cloud else asked)

    assert (status, reply['error']['more']) == (2, 0)
    assert reply['error']['message'].startswith('Object missing required field `name`')
    assert reply['error']['errors'] == [
        f'Object missing required field `name` - at `{ZONES}[0]`',
        f'Unknown key `nam` (did you mean `name`?) - at `{ZONES}[1]`',
        f'Object missing required field `name` - at `{ZONES}[1]`',
    ]


@pytest.mark.parametrize(
    ('text', 'error'),
    [
        (TEXT.replace('"id": "c1"', '"id": "c1", "id": "c2"'), ONCE.format('id')),
        (f'{TEXT[:-1]}, "x": [{{"y": 1, "y": 1}}]}}', ONCE.format('y')),
        ('[' * 100_000, 'Expected JSON - at `$`: maximum recursion depth exceeded'),
        ('{"a": [' + '[' * 900 + ']' * 900 + ']}', 'Expected only keys of the contract, got `$.a`'),
    ],
    ids=['known', 'unknown', 'deep', 'nested'],
)
def test_check_of_a_line_that_readers_understand_differently_is_refused(caller, text, error):
    """A duplicate key, or a text that is not JSON, is an error with its place."""
    assert _message(_check(caller, text)).startswith(error)


def test_check_of_a_long_line_has_the_limits_of_the_worker(caller):
    """The size of a line limits the search for duplicate keys, and the line itself."""

    def padded(size):
        return {**LINE, 'action': {**LINE['action'], 'data': {'padding': 'x' * size}}}

    long, limit = padded(check._UNIQUE_KEYS_BYTES), Limits().request_bytes
    _, reply = _check(caller, '{"policies": [], ' + json.dumps(long)[1:])
    assert len(reply['decisions']) == len(LINE['policies']), 'the last of two values counts'
    refused = _message(_check(caller, padded(limit)))
    assert f'Expected at most {limit} bytes, got ' in refused


class Remote(Caller):
    """A running worker that sends every request back."""

    def _send(self, method, asked, context):
        raise WorkerFailed(f'{method}: {msgspec.json.encode(asked).decode()}')


@pytest.mark.parametrize('explain', [None, 'full'])
def test_check_by_a_running_worker_sends_the_request(explain):
    """A valid line is sent with the level of detail."""
    sent = _message(_check(Remote(), LINE, explain)).removeprefix('policy_check: ')

    asked = {**LINE, 'explain': explain} if explain else LINE
    assert json.loads(sent) == msgspec.to_builtins(codec.decode(asked, CheckRequest))


@pytest.mark.parametrize('command', ['check', 'plan'])
def test_warning_is_the_first_line_of_a_table_and_in_the_data(program, command):
    """The log on standard error does not repeat a warning; AFTER has none."""
    warning = 'The action removes all 3 nodes of the cluster'
    asked = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=3), inputs={'count': 3})

    _, out, err = program(command, 'f', 'g', f=asked, g={**asked, 'target': 'AFTER'})
    _, data, _ = program(command, 'f', '-f', 'json')

    first, second, *others = out.splitlines()
    assert first == f'Warning: {warning}'
    assert second.startswith('CLUSTER_SCALE_IN of cluster web')
    assert not any('Warning' in line for line in (*others, *err.splitlines()))
    assert json.loads(data)['warnings'] == [warning]
