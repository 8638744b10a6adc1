"""placement-policy, run inside this process over the embedded cloud."""

import errno
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from placement_worker import errors
from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.cli import PlacementPolicy
from placement_worker.contract import strict_json
from placement_worker.contract.model import CheckRequest
from tests.factories import (
    bind,
    changed,
    deletion_policy,
    nodes,
    region_policy,
    request,
    zone_policy,
)
from tests.malformed_requests import GOOD, TABLE

ROOT = Path(__file__).parents[3]
CLOUD = {'zones': {'a': True, 'b': True}, 'regions': ['R1']}
FAILING = request('CLUSTER_SCALE_OUT', [zone_policy('gone')])

REAL_OPEN = open
CORRECT = '; correct the file and try again'
SCHEMA = '; run "placement-policy type show NAME-VERSION" for the schema'


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the program in a folder of its own; return exit status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        logging.getLogger(), 'handlers', []
    )  # the program adds its own, to this test's streams
    Path('cloud.yaml').write_text(yaml.safe_dump(CLOUD))

    def cli(*arguments, **files):
        for name, content in files.items():
            Path(name).write_text(content if isinstance(content, str) else json.dumps(content))
        app = PlacementPolicy()
        app.stdout, app.stderr = sys.stdout, sys.stderr
        own_cloud = (
            ['--cloud', 'cloud.yaml'] if arguments[0] == 'check' and 'f' in arguments else []
        )
        status = app.run([*arguments, *own_cloud])
        out, err = capsys.readouterr()
        return status, out, err

    return cli


def test_check_of_the_shipped_example_shows_its_decision():
    """The first command of the README shows a decision as tables."""
    done = subprocess.run(
        [sys.executable, '-m', 'placement_worker', 'check', 'examples/scale-out.yaml'],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout.splitlines()[:4] == [
        'CLUSTER_SCALE_OUT of cluster web (5 nodes), BEFORE: OK',
        'Completed policy checking.',
        'To create: 7 nodes',
        '    zones: az1 1, az2 6',
    ]
    assert (
        '| az2  |    200 |   - | yes    |       2 |   8.0 |       6 |     8 |             |'
        in done.stdout
    )
    assert (
        '| az3  |    100 |   - | no     |       0 |   0.0 |       0 |     0 | unavailable |'
        in done.stdout
    )


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'examples').glob('*.yaml')), ids=lambda path: path.name
)
def test_check_of_each_shipped_example_is_ok(run, path):
    """Each shipped request is decided over the shipped cloud."""
    if path.name == 'cloud.yaml':
        assert Inventory.load(str(path)).zones(None)
    else:
        assert run('check', str(path))[0] == 0


def test_check_with_explain_full_shows_victims_and_reasons(run):
    """A full explanation lists each victim with its reason."""
    asked = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b'), deletion_policy()], nodes(a=2, b=1))

    status, out, _ = run('check', 'f', '--explain', 'full', f=asked)

    assert status == 0
    assert '    candidates: n1' in out
    assert '    reasons: oldest 1' in out
    assert '|    1 | n1 | a     | oldest | ACTIVE | no      |' in out
    assert '|    2 | n2 | a     | oldest | ACTIVE | no      |' in out


def test_check_as_json_and_as_yaml_prints_the_same_reply(run):
    """JSON and YAML output contain the same complete reply."""
    _, as_json, _ = run('check', 'f', '-f', 'json', f=GOOD)
    _, as_yaml, _ = run('check', 'f', '-f', 'yaml', f=GOOD)

    from_json, from_yaml = json.loads(as_json), yaml.safe_load(as_yaml)
    for reply in (from_json, from_yaml):
        for decision in reply['decisions']:
            decision['elapsed_ms'] = 0
    assert from_json == from_yaml
    assert from_json['action']['data']['status'] == 'OK'


def test_check_of_several_documents_prints_a_reply_document_each(run):
    """Replies keep the order of the requests, each as a YAML document."""
    text = yaml.safe_dump_all([GOOD, FAILING])

    status, out, _ = run('check', 'f', '-f', 'yaml', f=text)

    assert status == 1
    assert [reply['action']['data']['status'] for reply in yaml.safe_load_all(out)] == [
        'OK',
        'ERROR',
    ]


@pytest.mark.parametrize(
    ('asked', 'status'),
    [
        ([GOOD], 0),
        ([GOOD, FAILING], 1),
        ([FAILING, changed(GOOD, lambda r: r.pop('target')), GOOD], 2),
    ],
)
def test_check_of_several_documents_exits_with_the_worst_status(run, asked, status):
    """An invalid request stops no other request and decides the exit status."""
    code, out, err = run('check', 'f', f=yaml.safe_dump_all(asked))

    assert code == status
    assert out.count('of cluster web') == len(asked) - (status == 2)
    if status == 2:
        assert (
            err
            == 'placement-policy check: f, document 2: Object missing required field `target` - '
            f'at `$`{CORRECT}\n'
        )


@pytest.mark.parametrize(
    ('change', 'key'),
    [
        (lambda r: r.update(dryrun=True), '`$.dryrun` (did you mean `dry_run`?)'),
        (lambda r: r['cluster']['nodes'][1].update(zone='a'), '`$.cluster.nodes[1].zone`'),
        (
            lambda r: r['policies'][0].update(priorty=1),
            '`$.policies[0].priorty` (did you mean `priority`?)',
        ),
        (lambda r: r['action'].update(input={}), '`$.action.input` (did you mean `inputs`?)'),
    ],
)
def test_check_with_an_unknown_key_is_refused_with_its_path(run, change, key):
    """An unknown key is refused with its path and the key that it resembles."""
    status, out, err = run('check', 'f', f=changed(GOOD, change))

    assert (status, out) == (2, '')
    assert (
        err == 'placement-policy check: f, document 1: Expected only keys of the contract, got '
        f'{key}{CORRECT}\n'
    )


def test_check_with_many_unknown_keys_names_the_first(run):
    """A message names five unknown keys and the number of the others."""
    _, _, err = run(
        'check', 'f', f=changed(GOOD, lambda r: r.update({f'key{i}': 1 for i in range(7)}))
    )

    named = ', '.join(f'`$.key{i}`' for i in range(5))
    assert err.endswith(f': Expected only keys of the contract, got {named} and 2 more{CORRECT}\n')


SCENARIO = {'title': 't', 'cloud': {}, 'policies': [], 'steps': [], 'cluster': {'name': 'web'}}


@pytest.mark.parametrize(
    ('command', 'document', 'message'),
    [
        (
            'check',
            SCENARIO,
            'f, document 1: It looks like a scenario; placement-policy simulate takes it',
        ),
        (
            'check',
            zone_policy('a')['spec'],
            'f, document 1: It looks like a policy spec; placement-policy validate takes it',
        ),
        (
            'plan',
            bind(zone_policy('a')),
            'f, document 1: It looks like a request to attach or detach a policy; '
            'placement-policy attach takes it',
        ),
        (
            'attach',
            GOOD,
            'f, document 1: It looks like a check request; placement-policy check takes it',
        ),
        (
            'validate',
            GOOD,
            'f, document 1: It looks like a check request; placement-policy check takes it',
        ),
        (
            'simulate',
            GOOD,
            'f is not a scenario: it looks like a check request; placement-policy check takes it',
        ),
    ],
)
def test_command_with_a_document_of_another_kind_names_the_right_command(
    run, command, document, message
):
    """A document of another kind is refused with the command that takes it."""
    status, out, err = run(command, 'f', f=document)

    assert (status, out) == (1 if command == 'plan' else 2, '')
    assert err == f'placement-policy {command}: {message}\n'


def test_check_with_free_form_maps_accepts_any_key(run):
    """The command line accepts any key where others define the keys, e.g. in NODE_CHECK inputs."""

    def change(asked):
        asked['action'].update(
            action='NODE_CHECK', data={'x': 1}, inputs={'y': 2}, node=asked['cluster']['nodes'][0]
        )
        asked['cluster']['nodes'][0].update(details={'OS-EXT-STS:vm_state': 'active'})
        asked['cluster']['profile'].update(
            properties={'flavor': 'm1.small', 'context': {'timeout': 1}}
        )
        asked['policies'][0]['spec']['description'] = 'as in the documents'

    assert run('check', 'f', f=changed(GOOD, change))[0] == 0


def test_check_of_lines_replies_to_each_line(run):
    """Each JSON line gets one reply line, and an invalid line stops no other line."""
    own_cloud = {'request': FAILING, 'cloud': {'zones': {'gone': True}}}
    lines = [
        GOOD,
        '{',
        '',
        FAILING,
        own_cloud,
        {**GOOD, 'dryrun': 1},
        {'request': GOOD, 'cloud': {'zone': 1}},
        {'request': GOOD, 'clod': {}},
        '[]',
        GOOD,
    ]
    text = '\n'.join(line if isinstance(line, str) else json.dumps(line) for line in lines)

    status, out, err = run('check', '--lines', 'f', f=text)

    answers = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (2, '')
    assert [a['error'] if 'error' in a else a['action']['data']['status'] for a in answers] == [
        'OK',
        {'type': 'InvalidRequest', 'message': 'Expected JSON - at `$`: Input data was truncated'},
        'ERROR',
        'OK',
        {
            'type': 'InvalidRequest',
            'message': 'Expected only keys of the contract, got `$.dryrun` (did you mean '
            '`dry_run`?)',
        },
        {
            'type': 'InvalidInventory',
            'message': 'cloud does not describe a cloud: Object contains unknown field `zone`, '
            'expected one of '
            '`zones`, `regions`, `home_region`, `servers`, `networks`, `subnets`, '
            '`load_balancer` - at `$`',
        },
        {'type': 'InvalidRequest', 'message': 'Expected only `request` and `cloud`, got `clod`'},
        {'type': 'InvalidRequest', 'message': 'Expected `object`, got `array` - at `$`'},
        'OK',
    ]
    assert all(', ' not in line.split('"decisions"')[0] for line in out.splitlines()[:1])


def test_check_of_lines_with_yaml_notes_the_mistake_once(run):
    """YAML input with --lines causes one note about the option."""
    status, out, err = run('check', '--lines', 'f', f=yaml.safe_dump(GOOD))

    assert status == 2
    assert err == (
        'placement-policy check: f: the first line is not a JSON object; for YAML, omit --lines\n'
    )
    assert {json.loads(line)['error']['type'] for line in out.splitlines()} == {'InvalidRequest'}


def test_check_of_lines_uses_the_error_messages_of_the_worker(run):
    """The command line and the worker report an invalid request in the same words."""
    rows = [row for row in TABLE if isinstance(row.sent, dict)]

    _, out, _ = run('check', '--lines', 'f', f='\n'.join(json.dumps(row.sent) for row in rows))

    assert [json.loads(line)['error'] for line in out.splitlines()] == [
        {'type': row.error, 'message': row.message} for row in rows
    ]


@pytest.mark.parametrize(
    'bad', [b'{"target": "caf\xe9"}', b'{"request": {"target": "caf\xe9"}}', b'["\xff"]']
)
def test_check_of_lines_with_invalid_utf_8_continues(run, tmp_path, bad):
    """A line that is not UTF-8 is an error of that line only."""
    (tmp_path / 'f').write_bytes(bad + b'\n' + json.dumps(GOOD).encode())

    status, out, err = run('check', '--lines', 'f')

    first, second = map(json.loads, out.splitlines())
    assert (status, err) == (2, '')
    assert first['error']['type'] == 'InvalidRequest'
    assert first['error']['message'].startswith('Expected JSON - at `$`: ')
    assert second['action']['data']['status'] == 'OK'


@pytest.mark.parametrize('encoded', [b'{"target": "caf\xe9"}', b'\xff'])
def test_decode_json_with_invalid_utf_8_is_refused(encoded):
    """A request that is not UTF-8 is an invalid request."""
    with pytest.raises(errors.InvalidRequest, match='Expected JSON - at `\\$`: '):
        strict_json.decode(encoded, CheckRequest)


def test_decode_json_with_an_error_before_deep_nesting_names_it():
    """An error before a deeply nested part is reported with its path."""
    deep = b'[' * 100_000 + b']' * 100_000

    with pytest.raises(
        errors.InvalidRequest, match=r'Expected `str`, got `int` - at `\$.action.id`'
    ):
        strict_json.decode(b'{"action": {"id": 1}, "x": ' + deep + b'}', CheckRequest)
    with pytest.raises(errors.InvalidRequest, match=r'Invalid enum value .* - at `\$.target`'):
        strict_json.decode(b'{"target": "NEVER", "x": ' + deep + b'}', CheckRequest)


def test_check_of_lines_reads_standard_input():
    """A dash reads the lines from the standard input."""
    done = subprocess.run(
        [sys.executable, '-m', 'placement_worker', 'check', '--lines', '-'],
        input=json.dumps({'request': GOOD, 'cloud': CLOUD}).encode() + b'\n\xff\n',
        capture_output=True,
        check=False,
    )

    first, second = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 2
    assert first['action']['data']['status'] == 'OK'
    assert second['error']['type'] == 'InvalidRequest'


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['check', 'none.yaml'], 'none.yaml: No such file or directory'),
        (['check', '.'], '.: Is a directory'),
        (['check', 'bad.yaml'], 'bad.yaml is neither YAML nor JSON: while parsing a flow node'),
        (['check', 'text.yaml'], 'text.yaml, document 1: Expected `object`, got `str` - at `$`'),
        (['validate', 'none.yaml'], 'none.yaml: No such file or directory'),
        (['check', 'empty.yaml'], 'empty.yaml is empty'),
        (['check', 'binary.yaml'], 'binary.yaml is neither YAML nor JSON: '),
        (
            ['validate', 'f', '--cloud', 'empty.yaml'],
            'The cloud cannot be read: empty.yaml is empty',
        ),
        (['validate', 'f', '--transport', ''], '[DEFAULT] transport_url is not set'),
        (
            ['validate', 'f', '--transport', 'rabbit://127.0.0.1:port/'],
            'The transport URL is not valid: ',
        ),
        (
            ['validate', 'f', '--transport', 'kafka://127.0.0.1/'],
            'The transport URL cannot be used: ',
        ),
        (['validate', 'f', '--config-file', 'text.yaml'], 'Failed to parse '),
        (
            ['check', 'f', '--transport', 'foo'],
            '--cloud describes an embedded cloud; omit it',
        ),
        (
            ['validate', 'f', '--cloud', 'none.yaml'],
            'The cloud cannot be read: none.yaml: No such file or directory',
        ),
        (
            ['validate', 'f', '--transport', 'foo'],
            'The transport URL is not valid: No scheme specified',
        ),
        (
            ['validate', 'f', '--transport', 'nope://x/'],
            'The transport URL cannot be used: Failed to load transport',
        ),
        (
            ['validate', 'f', '--transport', 'rabbit://127.0.0.1:1/'],
            'No broker answered: 127.0.0.1:1: ',
        ),
        (
            ['validate', 'f', '--config-file', 'none.conf'],
            'none.conf: No such file or directory; check the path',
        ),
        (['type', 'show', 'foo'], 'Policy type `foo` is not installed'),
        (
            ['ping'],
            'The running workers are not named; use --transport or --config-file, and run ',
        ),
        (['ping', '--config-file', 'locked'], 'locked: Permission denied; check the permissions'),
        (['ping', '--transport', 'rabbit://127.0.0.1:1/'], 'No broker answered: 127.0.0.1:1: '),
        (
            ['ping', '--config-file', 'none.conf'],
            'none.conf: No such file or directory; check the path',
        ),
    ],
)
def test_command_with_wrong_input_prints_one_line_with_the_cause(
    run, monkeypatch, arguments, message
):
    """Each wrong input is reported in one line with exit status 2."""
    files = {
        'bad.yaml': 'a: [',
        'text.yaml': 'hello',
        'empty.yaml': '# nothing',
        'binary.yaml': '\0\1',
        'f': zone_policy('a')['spec'],
    }
    for name, content in files.items():
        Path(name).write_text(content if isinstance(content, str) else json.dumps(content))
    monkeypatch.setattr('builtins.open', _open)

    status, out, err = run(*arguments)

    assert (status, out) == (2, '')
    assert err.startswith(
        f'placement-policy {" ".join(arguments[: 2 if arguments[0] == "type" else 1])}: {message}'
    )
    assert err.count('\n') == 1


def _open(path, *args, **more):
    """Open a file, but refuse one that not even root can read."""
    if path == 'locked':
        raise PermissionError(errno.EACCES, 'Permission denied', path)
    return REAL_OPEN(path, *args, **more)


def test_check_in_process_imports_neither_messaging_nor_openstack():
    """A check in this process imports no library for brokers, options or OpenStack."""
    code = (
        'import sys; from placement_worker.cmd.cli import main; sys.argv = ["p", "check", '
        '"examples/scale-out.yaml"]; '
        'status = main(); sys.exit(status or any(m.split(".")[0] in ("oslo_messaging", "kombu", '
        '"oslo_config", '
        '"keystoneauth1", "openstack", "requests") '
        'for m in sys.modules))'
    )
    assert (
        subprocess.run(
            [sys.executable, '-c', code], cwd=ROOT, capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.parametrize(
    'path', sorted((ROOT / 'conf' / 'policies').glob('*.yaml')), ids=lambda path: path.name
)
def test_validate_of_each_sample_spec_prints_a_valid_spec(run, path):
    """Each sample spec is valid, and so is the printed spec with defaults."""
    status, out, err = run('validate', str(path))
    again, out_again, _ = run('validate', 'f', f=out)

    assert (status, again, err) == (0, 0, '')
    assert out_again == out


def test_sample_specs_cover_every_policy_type(registry):
    """Each policy type has a sample spec, except two older versions of load balancing."""
    specs = [
        yaml.safe_load(path.read_text()) for path in (ROOT / 'conf' / 'policies').glob('*.yaml')
    ]

    assert {f'{spec["type"]}-{spec["version"]}' for spec in specs} | {
        'senlin.policy.loadbalance-1.0',
        'senlin.policy.loadbalance-1.2',
    } == set(registry.types)


def test_validate_with_an_invalid_spec_checks_the_others(run):
    """An invalid spec is reported with its path and stops no other spec."""
    text = yaml.safe_dump_all(
        [zone_policy(('a', 0))['spec'], region_policy('R1')['spec'], {'type': 'x', 'vrsion': 1}]
    )

    status, out, err = run('validate', 'f', f=text)

    assert status == 2
    assert yaml.safe_load(out)['properties'] == {
        'regions': [{'name': 'R1', 'weight': 100, 'cap': -1}]
    }
    assert err.splitlines() == [
        'placement-policy validate: f, document 1: Expected `int` >= 1, got `0` - at '
        '`$.properties.zones[0].weight`'
        f'{SCHEMA}',
        'placement-policy validate: f, document 3: Expected only keys of a spec, got `$.vrsion` '
        f'(did you mean `version`?){CORRECT}',
    ]


@pytest.mark.parametrize('timeout', ['0', '-1', 'soon', 'inf', 'nan'])
def test_timeout_that_is_not_a_positive_number_is_refused(run, timeout, capsys):
    """The option --timeout takes a positive number of seconds."""
    with pytest.raises(SystemExit) as ended:
        run('validate', 'f', f'--timeout={timeout}')

    assert ended.value.code == 2
    assert 'argument --timeout: ' in capsys.readouterr().err


def test_validate_with_check_resources_names_a_missing_zone(run):
    """A zone that the cloud lacks is an error with --check-resources."""
    status, _, err = run(
        'validate',
        'f',
        '--check-resources',
        '--cloud',
        'cloud.yaml',
        f=zone_policy('a', 'x')['spec'],
    )

    assert status == 2
    assert (
        err
        == 'placement-policy validate: f, document 1: The cloud has no usable availability zone '
        f'`x`{SCHEMA}\n'
    )


NOTE = (
    'This decision is for the shipped cloud of the examples; use --cloud FILE for another cloud\n'
)


@pytest.mark.parametrize(
    ('arguments', 'noted'),
    [
        (['check', 'own'], True),
        (['check', 'own', 'own', '--explain', 'full'], True),
        (['plan', 'own'], True),
        (['validate', 'spec', '--check-resources'], True),
        (['check', 'own', '--cloud', 'cloud.yaml'], False),
        (['check', 'own', '-f', 'json'], False),
        (['check', str(ROOT / 'examples' / 'scale-out.yaml')], False),
        (['check', 'scale-out.yaml'], False),  # as of a clone that the package was installed from
        (['validate', 'spec'], False),
    ],
)
def test_command_without_cloud_notes_the_shipped_cloud_once(run, arguments, noted):
    """A request of the user over the shipped cloud causes one note."""
    own = request('CLUSTER_SCALE_OUT', [zone_policy('az1', 'b')])

    Path('scale-out.yaml').write_bytes((ROOT / 'examples' / 'scale-out.yaml').read_bytes())

    status, _, err = run(*arguments, own=own, spec=zone_policy('az1')['spec'])

    assert status == (2 if arguments[0] == 'plan' else 0)
    assert err == (f'placement-policy {arguments[0]}: {NOTE}' if noted else '')


def test_type_list_prints_a_table_or_data(run):
    """The policy types are listed as a table and as JSON."""
    _, table, _ = run('type', 'list')
    _, data, _ = run('type', 'list', '-f', 'json')

    assert (
        '| senlin.policy.deletion-1.1         |      400 | SUPPORTED since 2018.01    | ANY '
        in table
    )
    assert [one['priority'] for one in json.loads(data)] == [400, 400, 500, 500, 500, 500, 200, 300]


def test_type_show_prints_the_schema(run):
    """A policy type is shown with the schema of its properties."""
    _, out, _ = run('type', 'show', 'senlin.policy.zone_placement-1.0', '-f', 'json')

    assert json.loads(out)['schema']['$defs']['Zone']['required'] == ['name']


@pytest.mark.parametrize(('fmt', 'parse'), [('json', json.loads), ('yaml', yaml.safe_load)])
def test_type_show_of_a_version_prints_its_support_status(run, fmt, parse):
    """The description of a type has the statuses of each version, with the releases of Senlin."""
    _, out, _ = run('type', 'show', 'senlin.policy.zone_placement-1.0', '-f', fmt)

    assert parse(out)['support_status'] == {
        '1.0': [
            {'status': 'EXPERIMENTAL', 'since': '2016.04'},
            {'status': 'SUPPORTED', 'since': '2016.10'},
        ],
    }


def test_type_show_of_an_unknown_type_suggests_a_similar_type(run):
    """An unknown type is reported with a suggestion, and without the path of a request."""
    _, _, err = run('type', 'show', 'senlin.policy.zone')

    assert err == (
        'placement-policy type show: Policy type `senlin.policy.zone` is not installed (did you '
        'mean '
        '`senlin.policy.zone_placement-1.0`?); run "placement-policy type list" for the '
        'installed types\n'
    )


def test_program_without_a_command_prints_the_overview():
    """The program without arguments lists its commands."""
    done = subprocess.run(
        [sys.executable, '-m', 'placement_worker'], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0
    assert 'type list' in done.stdout
    assert 'validate' in done.stdout
