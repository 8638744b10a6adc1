"""Requests from the documents of files."""

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cmd.request_files import CAUSES, check_request_of, misspellings
from placement_worker.contract import codec
from placement_worker.contract.model import CheckRequest
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.handlers.request_validation import KNOWN_STATUSES
from placement_worker.policies.registry import Registry
from tests.factories import bind, node, nodes, request, zone_policy
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


def _caller(*types):
    return InProcessCaller(Inventory(), Registry(types))


def test_check_request_of_a_type_that_is_not_installed_leaves_its_inputs_to_the_worker():
    """An input that a missing type may read is no error; the worker refuses the missing type."""
    request = check_request_of(_caller(), _with_input('wait_s'), None)

    assert request.action.inputs == {'wait_s': 1}


@pytest.mark.parametrize(
    ('types', 'asked', 'text'),
    [
        ([], _with_input('wait_s', enabled=False), 'Unknown input of CLUSTER_SCALE_OUT: "wait_s"'),
        (
            [('test.good-1.0', Waiting)],
            _with_input('wiat_s'),
            r'"wiat_s" \(did you mean "wait_s"\?\) - at',
        ),
    ],
    ids=['disabled', 'misspelled'],
)
def test_check_request_with_an_input_that_no_enabled_type_reads_is_refused(types, asked, text):
    """A disabled binding reads no input; the error suggests an input that a type declares."""
    with pytest.raises(InvalidRequest, match=text):
        check_request_of(_caller(*types), asked, None)


@pytest.mark.parametrize('command', ['check', 'plan', 'attach', 'detach', 'rebalance'])
def test_misspelled_key_in_the_data_of_a_node_is_an_error_of_each_command(run, command):
    """A node whose placement is misspelled is not decided as a node without a place."""
    members = [node(1, 'a'), node(2, data={'placment': {'zone': 'a'}})]
    if command in ('attach', 'detach'):
        asked = bind(zone_policy('a'), members)
    else:
        asked = request('CLUSTER_SCALE_IN', [zone_policy('a')], members)
    if command == 'rebalance':
        asked = {key: asked[key] for key in ('cluster', 'policies')}

    status, out, err = run(command, 'f', f=yaml.safe_dump(asked))

    assert (status, out) == (1 if command == 'plan' else 2, '')
    first, line, caret = err.splitlines()
    assert 'Unknown key `placment` (did you mean `placement`?) - at `$.cluster.nodes[1].' in first
    assert line.endswith('placment:')
    assert caret.index('^') == line.index('placment')


def described(members=(), context=None, **more):
    """Return the sentences about a request whose cluster's profile has this context."""
    asked = request('NODE_CREATE', [], members, **{'node': node(9), **more})
    if context is not None:
        asked['cluster']['profile']['properties'] = {'context': context}
    return list(misspellings(codec.decode(asked, CheckRequest), asked))


@pytest.mark.parametrize('cause', [*CAUSES, None, 'autoscaler'])
def test_describe_of_a_usual_request_returns_none(cause):
    """Causes of Senlin, causes of other engines and a region in a context are no mistakes."""
    assert described(nodes(a=1), {'region_name': 'R1'}, cause=cause) == []


@pytest.mark.parametrize(
    ('cause', 'meant'),
    [
        ('Derived action', 'Derived Action'),
        ('DerivedAction', 'Derived Action'),
        ('RPC request', 'RPC Request'),
    ],
)
def test_describe_of_a_misspelled_cause_names_the_probable_one(cause, meant):
    """A misspelled cause makes a derived action the request of a user."""
    assert described(cause=cause) == [
        f'Unknown cause "{cause}" (did you mean "{meant}"?); it counts as "RPC Request", which '
        'the policies decide'
    ]


@pytest.mark.parametrize('place', ['cluster', 'node of the action', 'member'])
def test_describe_of_an_unknown_key_of_a_context_names_it(place):
    """A misspelled region_name would leave the nodes in the home region."""
    profile = {'type': 'os.nova.server-1.0', 'properties': {'context': {'region': 'R1'}}}
    where = {
        'cluster': {'context': {'region': 'R1'}},
        'node of the action': {'node': node(9, profile=profile)},
        'member': {'members': [node(1, profile=profile)]},
    }[place]

    assert described(**where) == [
        'Unknown key of a profile\'s context: "region"; workers read only region_name'
    ]


@pytest.mark.parametrize(
    ('statuses', 'named'),
    [
        (KNOWN_STATUSES, None),
        (['', 'EROR', 'warning'], None),  # the worker warns of these
        (['BROKEN'], 'BROKEN; only'),
        (['ERROR', 'ACTIV', 'ACTIV'], 'ACTIV (did you mean ACTIVE?); '),
        (['BROKEN', 'DEAD'], 'BROKEN, DEAD; '),
    ],
)
def test_describe_of_unknown_statuses_names_each_once_with_the_probable_one(statuses, named):
    """A user sees once which status is unknown, and which one was probably meant."""
    found = described([node(i, status=status) for i, status in enumerate(statuses, start=1)])

    assert len(found) == (named is not None)
    for text in found:
        assert text.startswith(f'Unknown status of nodes: {named}')
        assert text.endswith('the statuses of Senlin are ' + ', '.join(KNOWN_STATUSES))
