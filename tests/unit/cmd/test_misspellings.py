"""The search for values that the contract allows, but that are probably misspelled."""

import pytest

from placement_worker.cmd import request_files
from placement_worker.contract import codec
from placement_worker.contract.model import CheckRequest
from placement_worker.handlers.request_validation import KNOWN_STATUSES
from tests.factories import node, nodes, request


def described(members=(), context=None, **more):
    """Return the sentences about a request whose cluster's profile has this context."""
    asked = request('NODE_CREATE', [], members, **{'node': node(9), **more})
    if context is not None:
        asked['cluster']['profile']['properties'] = {'context': context}
    return request_files.misspellings(codec.decode(asked, CheckRequest), asked)


@pytest.mark.parametrize('cause', [*request_files.CAUSES, None, 'autoscaler'])
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
    found = {
        'cluster': lambda: described(context={'region': 'R1'}),
        'node of the action': lambda: described(node=node(9, profile=profile)),
        'member': lambda: described([node(1, profile=profile)]),
    }[place]()

    assert found == ['Unknown key of a profile\'s context: "region"; workers read only region_name']


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
