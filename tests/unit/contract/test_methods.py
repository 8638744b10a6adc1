"""The table of RPC methods."""

import inspect

from placement_worker.contract.caller import Caller
from placement_worker.contract.methods import METHODS
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.messaging.rpc_server import ExposedEndpoints


def _public(kind):
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith('_')}


def test_methods_have_unique_names():
    """No two methods of the table share a name."""
    assert len({method.name for method in METHODS}) == len(METHODS)


def test_methods_are_all_that_a_caller_offers():
    """The caller's side has a method per entry of the table, of the same name, and no others."""
    assert _public(Caller) == {method.name for method in METHODS}


def test_methods_have_a_handler_each():
    """The handlers implement each method of the table."""
    assert {method.name for method in METHODS} <= _public(Endpoints)


def test_methods_are_all_that_the_server_exposes():
    """The dispatcher can reach the methods of the table and no others."""
    exposed = {
        name
        for name in _public(ExposedEndpoints)
        if hasattr(getattr(ExposedEndpoints, name), 'exposed')
    }

    assert exposed == {method.name for method in METHODS}
