"""Requests from the documents of files."""

import json

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.request_files import check_request_of
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry
from tests.factories import bind, deletion_policy, node, request, zone_policy
from tests.malformed_requests import GOOD
from tests.unit.policies.good_policy import Good


class Waiting(Good):
    interface = (2, 0)
    inputs = frozenset({'wait_s'})


def _with_input(key, **binding):
    """Return a request with one input and one binding of the policy type that reads `wait_s`."""
    spec = {'type': Waiting.name, 'version': '1.0'}
    return {
        **GOOD,
        'action': {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {key: 1}},
        'policies': [{'id': 'p1', 'spec': spec, **binding}],
    }


INSTALLED = ('test.good-1.0', Waiting)


@pytest.mark.parametrize('types', [[], [INSTALLED]], ids=['missing', 'installed'])
def test_check_request_with_an_input_that_a_type_may_read_is_accepted(types):
    """A worker refuses a missing type by itself."""
    caller = InProcessCaller(Inventory(), Registry(types))

    assert check_request_of(caller, _with_input('wait_s'), None).action.inputs == {'wait_s': 1}


@pytest.mark.parametrize(
    ('types', 'asked', 'text'),
    [
        ([], _with_input('wait_s', enabled=False), 'Unknown input of CLUSTER_SCALE_OUT: "wait_s"'),
        ([INSTALLED], _with_input('wiat_s'), r'"wiat_s" \(did you mean "wait_s"\?\) - at'),
    ],
    ids=['disabled', 'misspelled'],
)
def test_check_request_with_an_input_that_no_enabled_type_reads_is_refused(types, asked, text):
    """A disabled binding reads no input; the error suggests an input that a type declares."""
    with pytest.raises(InvalidRequest, match=text):
        check_request_of(InProcessCaller(Inventory(), Registry(types)), asked, None)


def document_of(command, policy, members=()):
    """Return a document of the kind that a command reads."""
    check, binding = request('CLUSTER_SCALE_IN', [policy], members), bind(policy, members)
    plan = {key: check[key] for key in ('cluster', 'policies')}
    kinds = {'attach': binding, 'detach': binding, 'rebalance': plan, 'validate': policy['spec']}
    return kinds.get(command, check)


@pytest.mark.parametrize('command', ['check', 'plan', 'attach', 'detach', 'rebalance'])
def test_misspelled_key_in_the_data_of_a_node_is_an_error_of_each_command(run, command):
    """A node whose placement is misspelled is not decided as a node without a place."""
    members = [node(1, 'a'), node(2, data={'placment': {'zone': 'a'}})]

    asked = document_of(command, zone_policy('a'), members)
    status, out, err = run(command, 'f', f=yaml.safe_dump(asked))

    assert (status, out) == (1 if command == 'plan' else 2, '')
    first, line, caret = err.splitlines()
    assert 'Unknown key `placment` (did you mean `placement`?) - at `$.cluster.nodes[1].' in first
    assert line.endswith('placment:')
    assert caret.index('^') == line.index('placment')


@pytest.mark.parametrize('command', ['check', 'plan', 'attach', 'rebalance', 'validate'])
def test_value_that_senlin_changes_is_an_error_in_a_file(run, command):
    """A weight of 2.5 would count as 2, and a zone that is called no as one called False."""
    asked = document_of(command, zone_policy(('a', 2.0), ('b', 2.5), (False, 3)))
    status, out, err = run(command, 'f', f=yaml.safe_dump(asked).replace('false', 'no'))

    lines = err.splitlines()
    assert (status, out, len(lines)) == (1 if command == 'plan' else 2, '', 7)
    assert 'Expected `int`, got `float` - at `$.' in lines[1]
    assert '.zones[1].weight`' in lines[1]
    assert lines[2].endswith('weight: 2.5')
    assert 'Expected `str`, got `bool` - at `$.' in lines[4]
    assert lines[5].endswith('- name: no')


def test_items_that_count_nodes_are_as_many_nodes_with_free_ids(run):
    """The ids are those of the place, numbered, without those that the file states."""
    nodes = [
        {'count': 2, 'zone': 'a', 'data': {'protected': True}},
        {'id': 'a-2', 'data': {'placement': {'zone': 'a'}}},
        {'count': 1, 'zone': 'a'},
        {'count': 1, 'zone': 'b', 'region': 'R1'},
        {'count': 1},
    ]
    asked = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes, inputs={'count': 4})

    changes = json.loads(run('plan', 'f', '-f', 'json', f=yaml.safe_dump(asked))[1])

    assert [node['id'] for node in changes['protected']] == ['a-1', 'a-3']
    assert {node['id']: node['place'] for node in changes['victims']} == {
        'a-2': 'a',
        'a-4': 'a',
        'R1-b-1': 'R1/b',
        'node-1': '(no known place)',
    }


@pytest.mark.parametrize(
    ('item', 'key', 'error'),
    [
        ({'count': 0, 'zone': 'a'}, 'count', 'Expected `int` >= 1, got `0` - at `$.cluster.nod'),
        ({'count': 2, 'zon': 'a'}, 'zon', 'Unknown key `zon` (did you mean `zone`?) - at `$.cl'),
        ({'count': 2, 'data': {'placment': {}}}, 'placment', 'Unknown key `placment` (did you'),
        ({'id': 7}, 'id', 'Expected `str`, got `int` - at `$.cluster.nodes[1].id`'),
        ({'id': 'n2', 'count': 2}, 'count', 'Unknown key `count`, expected one of `id`, `name`'),
    ],
)
def test_error_in_or_behind_an_item_that_counts_nodes_has_its_line(run, item, key, error):
    """The nodes that an item counts shift no index, and have its error once."""
    asked = request('CLUSTER_SCALE_IN', [], [{'count': 9, 'zone': 'a'}, item, node(1)])

    status, _, err = run('check', 'f', f=yaml.safe_dump(asked))

    first, line, _ = err.splitlines()
    assert (status, error in first) == (2, True)
    assert f'{key}: ' in line


LONG_LINE = f'[{{id: n1, data: {{x: {"x" * 2**16}}}}}]'


@pytest.mark.parametrize('between', ['', f'{"#" * 99}\n' * 700], ids=['next', 'after comments'])
def test_long_file_with_its_nodes_on_one_long_line_is_valid(run, between):
    """A value that begins behind the first 64 KiB is not taken for null."""
    cluster = 'cluster:\n  id: c\n  profile: {type: os.nova.server-1.0}\n  nodes:\n'
    text = f'target: BEFORE\n{cluster}{between}    {LONG_LINE}\n' + f'{"#" * 99}\n' * 10**4

    status, _, err = run('check', 'f', f=text + END)

    assert (status, err) == (0, '')


END = 'policies: []\naction: {id: a, action: CLUSTER_SCALE_OUT}'
SPREAD = (
    'policies:\n- {enabled: true, id: p, spec: {type: senlin.policy.zone_placement, version: 1.0, '
    'properties: {zones: [{name: a, weight: no}]}}}'
)


def long_text(second, end):
    """Return a request of 1 MiB; the data of a node are cut behind the first 64 KiB."""
    text = (
        f'target: BEFORE\n{second}\ncluster:\n  id: c\n'
        '  profile: {type: os.nova.server-1.0}\n  nodes:\n'
    )
    while len(text) < 2**16 - 100:
        text += f'  - {{id: n{len(text)}}}\n'
    text += f'  - id: cut\n    data:\n      #{"x" * 200}\n      placement: {{zone: a}}\n'
    return text + f'{"#" * 99}\n' * 10**4 + end


@pytest.mark.parametrize(
    ('command', 'second', 'end', 'status', 'error'),
    [
        ('check', 'explain: full', END, 0, ''),
        ('rebalance', 'explain: full', END, 1, ''),
        ('check', 'explain: full', 'policies: [', 2, 'f:13'),
        ('check', 'explian: full', '[', 2, 'f:2:1: Unknown key `explian` (did you mean `explain`?'),
        ('plan', 'explain: ALL', '[', 1, 'f:2:10: Expected one of `full`, `none`, `summary`, got'),
        ('rebalance', 'optoins: {}', '[', 2, 'f:2:1: Unknown key `optoins` (did you mean `opt'),
        ('check', SPREAD, '[', 2, 'f:3:122: Expected `int`, got `bool` - at `$.pol'),
        ('rebalance', SPREAD, '[', 2, 'f:3:122: Expected `int`, got `bool` - at `$.pol'),
        ('check', SPREAD.replace('true', 'false'), '[', 2, 'f:13'),
        ('check', 'target: AFTER', '[', 2, 'f:2:1 is neither YAML nor JSON: found the key '),
    ],
)
def test_error_in_the_first_lines_of_a_long_file_is_found_before_the_rest(
    run, command, second, end, status, error
):
    """30 MB of YAML take half a minute; the part of a value that was read is no error."""
    ended, _, err = run(command, 'f', f=long_text(second, end))

    assert (ended, error in err) == (status, True)


def test_rebalance_of_a_long_file_that_begins_with_the_action_reads_on(run):
    """The action, which a rebalance leaves out, may be all of the lines that are read first."""
    action = 'action:\n  id: a1\n  inputs:\n    candidates:\n' + '    - n1\n' * 2**13
    rest = 'cluster:\n  id: c1\n  profile: {type: os.nova.server-1.0}\npolicies: [\n'

    status, _, err = run('rebalance', 'f', f=action + f'{"#" * 99}\n' * 10**4 + rest)

    assert (status, ' is neither YAML nor JSON' in err) == (2, True)
