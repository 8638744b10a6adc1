"""The table of RPC methods, and the topic and the version that each request needs."""

import inspect
import typing

import msgspec
import pytest

from placement_worker.contract import codec
from placement_worker.contract.caller import Caller
from placement_worker.contract.model import CheckRequest
from placement_worker.contract.rpc import LOAD_BALANCING, METHODS, POLICY_CHECK, is_slow, version_of
from placement_worker.handlers.service import Endpoints
from placement_worker.messaging.rpc_server import ExposedEndpoints
from tests.factories import node, request, zone_policy

BOUND = {**zone_policy(), 'spec': {'type': LOAD_BALANCING, 'version': '1.3'}}


def _public(kind):
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith('_')}


def test_methods_are_all_that_a_caller_offers():
    """The caller's side has a method per entry of the table, and no other."""
    assert _public(Caller) == {method.name for method in METHODS}


@pytest.mark.parametrize('method', METHODS, ids=lambda method: method.name)
def test_handlers_have_the_types_of_the_table(method):
    """The function of each method takes the request and returns the reply of its entry."""
    handler = Endpoints._check if method is POLICY_CHECK else getattr(Endpoints, method.name)

    request_type, _, reply_type = typing.get_type_hints(inspect.unwrap(handler)).values()

    assert (request_type, reply_type) == (method.request, method.reply)


def test_methods_are_all_that_the_server_exposes():
    """The dispatcher can reach the methods of the table and no others."""
    exposed = {
        name
        for name in _public(ExposedEndpoints)
        if hasattr(getattr(ExposedEndpoints, name), 'exposed')
    }

    assert exposed == {method.name for method in METHODS}


@pytest.mark.parametrize(
    ('action', 'policy', 'slow'),
    [
        ('CLUSTER_SCALE_IN', BOUND, True),
        ('CLUSTER_SCALE_IN', {**BOUND, 'enabled': False}, False),
        ('CLUSTER_SCALE_IN', zone_policy(('a', 0)), False),
        ('CLUSTER_SCALE_OUT', BOUND, False),
    ],
)
def test_is_slow_asks_for_an_enabled_load_balancing_policy_that_waits(action, policy, slow):
    """A check is slow if an enabled load balancing policy handles its phase and action."""
    check = codec.decode(request(action, [policy]), CheckRequest)

    assert is_slow(msgspec.structs.replace(check, target='BEFORE')) is slow


@pytest.mark.parametrize(
    ('action', 'value', 'version'),
    [
        ('CLUSTER_SCALE_IN', 'true', '1.1'),
        ('CLUSTER_SCALE_IN', {'until': '2030-01-01T00:00:00Z'}, '1.1'),
        ('CLUSTER_SCALE_IN', 'False', '1.0'),
        ('CLUSTER_SCALE_IN', None, '1.0'),
        ('CLUSTER_SCALE_OUT', 'true', '1.0'),
    ],
)
def test_version_of_a_check_depends_on_nodes_that_may_be_protected(action, value, version):
    """Only a check that may delete a protected node needs a worker that knows protection."""
    in_metadata = {**node(1), 'metadata': {'protected': value}}
    in_data = {**node(1), 'data': {'protected': value}}

    for one in (in_metadata, in_data):
        check = codec.decode(request(action, [], [node(2), one]), CheckRequest)
        assert version_of('policy_check', check) == version

    # The node of the action may be protected although the cluster does not list it.
    deletion = codec.decode(request('NODE_DELETE', [], [], node=in_data), CheckRequest)
    assert action != 'CLUSTER_SCALE_IN' or version_of('policy_check', deletion) == version


def test_version_of_other_methods_is_the_one_that_introduced_them():
    """A new client asks an old worker for its methods with the version that it has."""
    versions = {method.name: version_of(method.name, {}) for method in METHODS}

    assert versions.pop('policy_rebalance') == '1.1'
    assert set(versions.values()) == {'1.0'}
