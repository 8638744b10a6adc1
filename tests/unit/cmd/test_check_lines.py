"""Replies to JSON lines, for `placement-policy check --lines`."""

import json

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd import check_lines
from placement_worker.cmd.check_lines import Line
from placement_worker.contract import codec, strict_json, unknown_keys
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.contract.rpc import Limits
from placement_worker.errors import WorkerFailed
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry
from tests.factories import changed, deletion_policy, nodes, request, zone_policy

CLOUD = Inventory.parse({'zones': {'a': True, 'b': True}}, 'the cloud')
GOOD = request('CLUSTER_SCALE_IN', [zone_policy('a', 'b'), deletion_policy()], nodes(a=2, b=1))
ZONES = '$.policies[0].spec.properties.zones'
REPEATED = '{"dry_run": false, "dry_run": true, ' + json.dumps(GOOD)[1:]


@pytest.fixture
def caller():
    """A worker in this process."""
    return InProcessCaller(CLOUD, Registry.installed())


def _check(caller, asked, explain=None):
    text = asked if isinstance(asked, str) else json.dumps(asked)
    status, reply = check_lines.check(caller, Line(text.encode(), 'f', 7), explain)
    return status, json.loads(reply)


def _message(answer):
    return answer[1]['error']['message']


def test_check_of_a_valid_request_visits_no_key(caller, monkeypatch):
    """A valid request takes the fast path, which does not search for the words of errors."""
    monkeypatch.delattr(unknown_keys, 'described')

    status, reply = _check(caller, GOOD)

    assert (status, reply['action']['data']['status']) == (0, 'OK')


@pytest.mark.parametrize('own', [{}, {'explain': 'none'}])
def test_check_with_a_level_of_detail_overrides_that_of_the_request(caller, own):
    """The option applies to requests with and without a level of their own."""
    _, plain = _check(caller, {**GOOD, **own})
    _, full = _check(caller, {**GOOD, **own}, 'full')

    def details(reply):
        return str([one['details'] for one in reply['decisions']])

    assert len(details(full)) > len(details(plain))


def test_check_with_a_policy_on_an_unknown_zone_has_the_status_of_an_error(caller):
    """A check that ends in ERROR has the exit status 1."""
    status, reply = _check(caller, request('CLUSTER_SCALE_OUT', [zone_policy('gone')]))

    assert (status, reply['action']['data']['status']) == (1, 'ERROR')


@pytest.mark.parametrize(
    ('asked', 'message'),
    [
        (
            {**GOOD, 'dryrun': True},
            'Expected only keys of the contract, got `$.dryrun` (did you mean `dry_run`?)',
        ),
        (REPEATED, 'Expected each key once, got `dry_run` twice - at `$`'),
        (
            {**GOOD, 'action': {**GOOD['action'], 'inputs': {'cuont': 1}}},
            'Unknown input of CLUSTER_SCALE_IN: "cuont" (did you mean "count"?) - at '
            '`$.action.inputs`',
        ),
    ],
)
def test_check_with_a_wrong_key_is_refused_with_the_key(caller, asked, message):
    """Unknown and repeated keys are refused before the request is decided."""
    answer = _check(caller, asked)

    assert (answer[0], _message(answer)) == (2, message)


def _wrong_values(asked):
    asked['action'].update(id=7)
    asked['cluster'].update(nodes={})


def _wrong_zones(asked):
    asked['policies'][0]['spec']['properties']['zones'] = [{'weight': 1}, {'nam': 'b'}]


@pytest.mark.parametrize('cloud', [{}, {'cloud': {'zones': {'a': True}}}])
@pytest.mark.parametrize(
    ('change', 'found'),
    [
        (
            _wrong_values,
            [
                'Expected `str`, got `int` - at `$.action.id`',
                'Expected `array`, got `object` - at `$.cluster.nodes`',
            ],
        ),
        (
            _wrong_zones,
            [
                f'Object missing required field `name` - at `{ZONES}[0]`',
                f'Unknown key `nam` (did you mean `name`?) - at `{ZONES}[1]`',
                f'Object missing required field `name` - at `{ZONES}[1]`',
            ],
        ),
    ],
    ids=['contract', 'properties'],
)
def test_check_of_a_line_with_several_errors_lists_all(caller, change, found, cloud):
    """The error of a line has the first error, as before, and the list of all errors."""
    asked = changed(GOOD, change)
    status, reply = _check(caller, {'request': asked, **cloud} if cloud else asked)

    assert status == 2
    assert reply['error']['message'].partition(' - at ')[0] in found[0]
    assert (reply['error']['errors'], reply['error']['more']) == (found, 0)


def test_check_of_a_line_with_many_errors_lists_the_first_and_counts_the_others(caller):
    """The list has the length of the list for files."""
    _, reply = _check(caller, {**GOOD, **{f'key{n}': 1 for n in range(12)}})

    assert len(reply['error']['errors']) == 10
    assert reply['error']['more'] == 2


def test_check_of_a_line_with_one_error_has_no_list(caller):
    """A single error is in the message alone."""
    _, reply = _check(caller, {**GOOD, 'target': 'NEVER'})

    assert set(reply['error']) == {'type', 'message', 'file', 'line'}


def test_check_of_a_long_line_uses_the_last_of_two_values(caller):
    """As in the worker, the size of a line limits the search for duplicate keys."""
    padding = {'padding': 'x' * strict_json.UNIQUE_KEYS_BYTES}
    long = {**GOOD, 'action': {**GOOD['action'], 'data': padding}}

    _, reply = _check(caller, '{"policies": [], ' + json.dumps(long)[1:])

    assert len(reply['decisions']) == len(GOOD['policies'])


def test_check_of_a_line_above_the_size_limit_is_refused(caller):
    """The limit of the worker applies to lines."""
    limit = Limits().request_bytes
    asked = {**GOOD, 'action': {**GOOD['action'], 'data': {'padding': 'x' * limit}}}

    assert f'Expected at most {limit} bytes, got ' in _message(_check(caller, asked))


class Remote(Caller):
    """A running worker that sends every request back."""

    def _send(self, method, asked, context):
        raise WorkerFailed(f'{method}: {msgspec.json.encode(asked).decode()}')


@pytest.mark.parametrize('explain', [None, 'full'])
def test_check_by_a_running_worker_sends_the_request(explain):
    """A valid line is sent with the level of detail."""
    sent = _message(_check(Remote(), GOOD, explain)).removeprefix('policy_check: ')

    asked = {**GOOD, 'explain': explain} if explain else GOOD
    assert json.loads(sent) == msgspec.to_builtins(codec.decode(asked, CheckRequest))


def test_check_by_a_running_worker_refuses_an_unknown_key():
    """A line with an unknown key is not sent to a running worker."""
    answer = _check(Remote(), {**GOOD, 'dryrun': True})

    assert 'Expected only keys of the contract' in _message(answer)


def test_check_of_a_line_prints_a_complete_reply(caller):
    """The text is a reply of the contract, in one line."""
    _, text = check_lines.check(caller, Line(json.dumps(GOOD).encode(), 'f', 1), None)

    assert '\n' not in text
    assert set(json.loads(text)) == set(CheckReply.__struct_fields__)
