"""Errors of commands: what is wrong comes first, what to do comes last."""

import errno
import json
import re
import shlex
from pathlib import Path

import pytest

from placement_worker.cmd import file_errors
from tests import hostile_requests
from tests.factories import changed, nodes, request, zone_policy
from tests.unit.cmd.inputs import FILES, GOOD

REAL_OPEN = open
CHECK = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b')], nodes(a=2))
SCENARIO = {'title': 't', 'cloud': {}, 'policies': [], 'steps': [], 'cluster': {'name': 'web'}}
UNKNOWN_TYPE = {'id': 'x', 'spec': {'type': 'x', 'version': 1}}


def growth(**inputs):
    return request('CLUSTER_SCALE_OUT', [zone_policy('a')], inputs=inputs)


OWN_FILES = {
    **FILES,
    'cloud': {'zones': {'a': True, 'b': True}},
    'seven': growth(count='seven'),
    'cuont': growth(cuont=3),
    'dryrun': {**GOOD, 'dryrun': True},
    'zoned': changed(GOOD, lambda asked: asked['cluster']['nodes'][1].update(zone='a')),
    'played': SCENARIO,
    'untyped': {**SCENARIO, 'policies': [UNKNOWN_TYPE], 'steps': [{'scale_out': 1}]},
    'fraction': {**SCENARIO, 'policies': [zone_policy(('a', 2.5))], 'steps': [{'scale_out': 1}]},
    'apart': {'type': 'senlin.policy.deletion-1.1', 'properties': {}},
    'array': [],
    'options': {'cluster': {}, 'policies': [], 'options': 7},
    'polices': {**CHECK, 'polices': []},
    'soon': '- zone: a\n  until: soon\n',
    'closed': [{'zone': 'a', 'until': '2999-12-01T06:00:00Z'}],
    'unset': '[worker]\n',
}
# The arguments of a command, and what its error contains.
TABLE = r"""
check bad -> check: bad:2:1 is neither YAML nor JSON: did not find expected
check text -> check: text:1:1: Expected `object`, got `str` - at `$`
check dryrun -> Unknown key `dryrun` (did you mean `dry_run`?) - at `$`; CORRECT
check zoned -> Unknown key `zone`, expected one of `id`, `name`, `physical_id`, `index`, `status`
check zoned -> and 10 more - at `$.cluster.nodes[1]`; CORRECT
check seven -> Expected `int`, got `"seven"` - at `$.action.inputs.count`; CORRECT
plan seven -> Expected `int`, got `"seven"` - at `$.action.inputs.count`; CORRECT
check cuont -> Unknown input of CLUSTER_SCALE_OUT: "cuont" (did you mean "count"?)
plan cuont -> Unknown input of CLUSTER_SCALE_OUT: "cuont" (did you mean "count"?)
check --lines -f yaml good -> --lines prints replies as JSON; omit --lines or -f yaml
attach played -> played, document 1: This is a scenario; run placement-policy simulate FILE
rebalance played -> played, document 1: This is a scenario; run placement-policy simulate FILE
validate played -> played, document 1: This is a scenario; run placement-policy simulate FILE
validate none -> validate: none: No such file or directory; check the path
check examples/none.yaml -> No such file or directory; the examples are in the clone of
validate apart -> write type and version apart: `type: senlin.policy.deletion, version: '1.1'`
validate spec --check-resources --cloud cloud -> The cloud has no usable availability zone "az1";
validate spec --check-resources --cloud cloud -> usable: "a", "b" - at `$.properties.zones[0].name`
validate spec --cloud empty -> validate: The cloud cannot be read: empty is empty
rebalance array --max-surge 2 -> Expected `object`
rebalance options --max-surge 2 -> options: 2 errors
rebalance polices --max-surge 2 -> got `$.polices` (did you mean `policies`?)
simulate none -> none: no such file; name a file or a shipped scenario: capped-regions, g
simulate scenario -> scenario is not a scenario: Unknown key `titel` (did you mean `title`?)
simulate scenario -> - at `$` (line 1, column 2) and 1 more error; correct the file
simulate untyped -> Policy type `x-1.0` is not installed - at `$.policies[0].spec`
simulate fraction -> Expected `int`, got `float` - at `$.policies[0].spec.properties.

validate spec --transport '' -> validate: [DEFAULT] transport_url is not set
validate spec --config-file text -> validate: Failed to parse
validate spec --transport nope://x/ -> The transport URL cannot be used: Failed to load transport
ping -> ping: Name the running workers with --transport or --config-file; no file is read by default
worker list -> worker list: Name the running workers with --transport or --config-file; no file
ping --config-file locked -> ping: locked: Permission denied; run the command as a user
ping --transport rabbit://127.0.0.1:1/ -> ping: No broker responded: 127.0.0.1:1:
parked list -> no file is read by default; run "placement-policy parked list --help" for the usage
type list --server host1 -> --server names a running worker; add --transport or --config-file;
type show x --server host1 -> --server names a running worker; add --transport or --config-file;
plan good --transport rabbit:// --cloud x -> --cloud describes an embedded cloud; omit it
plan good --transport rabbit:// --cordon-file x -> --cordon-file is for an embedded cloud; running
type show senlin.policy.zone -> show: Policy type `senlin.policy.zone` is not installed (did
type show senlin.policy.zone -> did you mean `senlin.policy.zone_placement-1.1`?); run
type show senlin.policy.zone -> type list", with --config-file or --transport to ask a worker,
schema policy_chek.request -> policy_chek.request (did you mean policy_check.request?); run
schema ../../py.typed -> Unknown message ../../py.typed; run "placement-policy schema"

cordon list --cordon-file none -> Cannot read the cordon file: none: No such file or directory
cordon list --cordon-file soon -> `$[0].until` (line 2, column 10); correct the cordon file
cordon list --cordon-file closed -c stat -> Unknown column stat (did you mean state?); the columns
cordon list --cordon-file closed --sort-column stat -> are place, until, state, reason; correct the
cordon list --config-file unset -> unset: [placement] cordon_file is not set
ADD --until UNTIL -> Expected --zone, --region or both, got none
ADD --zone a -> one of the arguments --until --for is required
ADD --zone a --until UNTIL --for 1h -> --for: not allowed with argument --until
ADD --zone a --until tomorrow -> TIME, e.g. 2026-12-01T06:00Z, got tomorrow
ADD --zone a --until 2999-12-01T06:00 -> TIME, e.g. 2026-12-01T06:00Z, got 2999
ADD --zone a --until 2000-12-01T06:00Z -> expected a time in the future, got 20
ADD --zone X*256 --until UNTIL -> expected 1 to 255 characters, got 256
ADD --region X*256 --until UNTIL -> expected 1 to 255 characters, got 256
ADD --zone a --reason X*201 --until UNTIL -> expected 1 to 200 characters, got 201
ADD --zone a --reason '' --until UNTIL -> expected 1 to 200 characters, got 0
REMOVE -> Expected --zone, --region or both, got none
REMOVE --ended --zone b -> --ended excludes --zone and --region
REMOVE --zone b -> Unknown cordon of zone b; cordoned places: none; correct

check good --explan -> unrecognized arguments: --explan (did you mean --explain?); run
check good --explan=full -> unrecognized arguments: --explan=full (did you mean --explain?); run
check good --zzz -> unrecognized arguments: --zzz; run "placement-policy check --help" for the usage
rebalance good --max-moves=0 -> argument --max-moves: expected integer >= 1, got 0; run
rebalance good --max-surge=25% -> argument --max-surge: expected integer >= 1, got 25%; run
rebalance good --min-gain=nan -> argument --min-gain: expected number >= 0, got nan; run
rebalance good --min-gain=inf -> argument --min-gain: expected number >= 0, got inf; run
rebalance good --min-age-s=-1 -> argument --min-age-s: expected integer >= 0, got -1; run
simulate s --every x -> argument --every: expected integer >= 1, got x; run
simulate s --every 0 -> argument --every: expected integer >= 1, got 0; run
simulate s --report /none/r.html -> /none: No such folder
simulate s --plot p.png -> p.png: unknown picture format; use a file name that ends in .svg
why --log log n1 -> ; put NAME before --log; run
cordon ad -> placement-policy: Unknown command "cordon ad" (did you mean "cordon add"?); run
--zzz --help -> placement-policy: Unknown command "--zzz"; run
parked d 7 -> Unknown command "parked d" (did you mean "parked drop"?); run
va f -> Unknown command "va" (did you mean "validate"?); run
help va -> Unknown command "va" (did you mean "validate"?); run
valdate f -> Unknown command "valdate" (did you mean "validate"?); run
parked x -> Unknown command "parked x" (did you mean "parked
"""
SHORT = {
    'ADD': 'cordon add --cordon-file none',
    'REMOVE': 'cordon remove --cordon-file array',
    'CORRECT': 'correct the file and try again',
    'UNTIL': '2999-12-01T06:00Z',
    'TIME': 'expected a time in ISO 8601 with its offset',
    'X*256': 'x' * 256,
    'X*201': 'x' * 201,
}
READING = ('check', 'plan', 'attach', 'detach', 'validate')
ASKING = (
    'check good', 'plan good', 'attach bind', 'detach bind', 'validate spec', 'ping', 'type list',
    'type show x', 'parked list', 'parked show 1', 'parked drop 1', 'parked retry 1',
)  # fmt: skip
BROKERS = (
    '--transport rabbit://127.0.0.1:1/', '--transport nonsense', '--config-file none',
    '--config-file text', '--nonsense',
)  # fmt: skip
TIMEOUTS = ('abc', '', '0', '-1', 'inf', 'nan', '86400')
DURATIONS = ('10', 'h', '0h', '-1h', '1.5h', '10H', '999999999d', '1h30m')


def rows():
    table = TABLE
    for name, text in SHORT.items():
        table = table.replace(name, text)
    yield from (line.split(' -> ') for line in table.splitlines() if line)
    unfit = ('none', '.', 'bad', 'binary', 'empty', 'text')
    yield from ((f'{name} {wrong}', '') for name in READING for wrong in (*unfit, 'keys'))
    yield from ((f'simulate {wrong}', '') for wrong in (*unfit, 'scenario'))
    for command in ('check good --cloud', 'replay'):
        yield from ((f'{command} {wrong}', '') for wrong in ('none', '.', 'text', 'keys'))
    yield from ((f'{typed} {broker}', '') for typed in ASKING for broker in BROKERS)
    yield from ((typed, '') for typed in ('check', '--nonsense', 'type nonsense'))
    limits = 'argument --timeout: expected a number of seconds above 0 and less than 86400, got '
    yield from ((f"validate spec '--timeout={text}'", f'{limits}{text}; run ') for text in TIMEOUTS)
    form = 'expected minutes, hours or days, e.g. 90m, 10h or 2d, got '
    add = f'{SHORT["ADD"]} --zone a --for='
    yield from ((add + text, f'{form}{text};') for text in DURATIONS)
    yield "'\x1b[2Jevil'", 'Unknown command "\\u001b[2Jevil"; run '
    yield f"schema '\x1b[31m{'x' * 100}'", f'Unknown message \\u001b[31m{"x" * 75}; run '


WHAT_TO_DO = [
    *file_errors._HINTS.values(),
    *file_errors._BY_TEXT.values(),
    'for the usage',
    'for the schema', 'for the list of commands', 'for the list of names', 'correct the file',
    'for the installed types', 'name a file or a shipped scenario: ', 'skipped the line',
    'use one document per scenario', 'run placement-policy simulate FILE',
    'write type and version apart', 'omit --lines or -f yaml', 'use a file name that ends in .svg',
    'create it, and write [] for no cordons',
]  # fmt: skip


@pytest.mark.parametrize(('typed', 'message'), list(rows()))
def test_command_with_an_error_prints_its_cause_and_a_remedy(program, monkeypatch, typed, message):
    """An error is a line that no text of a user can break, and then positions and snippets.

    Only the exact name runs a command, so that no abbreviation changes or deletes anything.
    """
    monkeypatch.setattr('builtins.open', _open)

    status, out, err = program(*shlex.split(typed), **OWN_FILES)

    first, *others = err.splitlines()
    assert out == '' or typed.startswith('replay')
    assert status == (1 if typed.startswith('plan') else 2)
    assert first.startswith('placement-policy')
    assert message in first
    assert any(f'; {end}' in first or f' {end}' in first for end in filter(None, WHAT_TO_DO)), err
    assert all(re.match(r' *\d* \| |[a-z]+:\d+:\d+: ', line) for line in others), err
    assert hostile_requests.raw(err.replace('\n', '')) == []
    assert not re.search('Traceback|Error', err)
    assert not Path('none').exists()


def _open(path, *args, **more):
    """Open a file, but refuse one that not even root can read."""
    if path == 'locked':
        raise PermissionError(errno.EACCES, 'Permission denied', path)
    return REAL_OPEN(path, *args, **more)


def test_check_with_many_errors_shows_the_first_and_counts_the_others(run):
    """A command shows ten errors of a file or a line, and the number of the others."""
    asked = changed(GOOD, lambda r: r.update({f'key{i}': 1 for i in range(12)}))

    _, _, err = run('check', 'f', f=asked)
    _, out, _ = run('check', '--lines', 'f', f=json.dumps(asked))

    lines = err.splitlines()
    assert lines[0] == 'placement-policy check: f: 12 errors; correct the file and try again'
    assert sum(line.startswith('f:') for line in lines) == 10
    assert lines[-1] == 'and 2 more errors'
    error = json.loads(out)['error']
    assert (len(error['errors']), error['more']) == (10, 2)


@pytest.mark.parametrize('step', [1, -1], ids=['missing first', 'wrong first'])
def test_check_with_missing_types_and_wrong_properties_names_all(run, step):
    """All errors of a request are found in one run; disabled policies do not matter."""
    missing = [{'id': name, 'spec': {'type': name, 'version': 1}} for name in 'xyz']
    missing[2]['enabled'] = False
    wrong = changed(zone_policy('a'), lambda p: p['spec']['properties'].update(zones=[{'nam': 1}]))
    policies = [*missing, wrong][::step]

    status, _, err = run('check', 'f', f=request('CLUSTER_SCALE_IN', policies))

    path = f'`$.policies[{policies.index(wrong)}].spec.properties.zones[0]`'
    lines = [line for line in err.splitlines() if line.startswith('f:')]
    found = [line.split(': ', 1)[1].partition('; ')[0] for line in lines]
    assert (status, 'f: 4 errors' in err) == (2, True)
    assert sorted(found) == [
        f'Object missing required field `name` - at {path}',
        *(
            f'Policy type `{policy["id"]}-1.0` is not installed - at '
            f'`$.policies[{policies.index(policy)}].spec`'
            for policy in missing[:2]
        ),
        f'Unknown key `nam` (did you mean `name`?) - at {path}',
    ]


def test_error_of_a_command_with_debug_has_a_traceback(program):
    """With --debug, the traceback of an error is above the line that describes the error."""
    status, _, err = program('--debug', 'check', '/nowhere/request.yaml')

    assert (status, 'Traceback (most recent call last):' in err) == (2, True)
    assert err.splitlines()[-1].startswith('placement-policy check: ')
