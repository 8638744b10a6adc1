"""The methods that callers reach, and the context of a request."""

from types import SimpleNamespace

import oslo_messaging
import pytest

from placement_worker.cloud.ports import current_request_id
from placement_worker.contract.rpc import VERSION
from placement_worker.messaging.rpc_server import (
    AccessPolicy,
    ContextSerializer,
    Dispatcher,
    ExposedEndpoints,
    report_parked,
)

LOCAL = 'req-0f3a1b2c-0d4e-4f56-8a9b-0c1d2e3f4a5b'
GLOBAL = 'req-99999999-0d4e-4f56-8a9b-0c1d2e3f4a5b'


class Endpoints:
    """Return the request id that services of the cloud get."""

    def policy_check(self, request, request_id):
        return current_request_id()


@pytest.mark.parametrize(
    ('ids', 'sent'),
    [
        ({'request_id': LOCAL}, LOCAL),
        ({'request_id': LOCAL, 'global_request_id': GLOBAL}, GLOBAL),
        ({'request_id': 'mine'}, None),
        ({}, 'a new one'),
    ],
)
def test_endpoint_runs_with_the_request_id_of_the_caller_or_the_global_one(ids, sent):
    """Services of the cloud get the global request id of the caller, its own id, or a new one."""
    context = ContextSerializer().deserialize_context(ids)
    expected = sent if ids else context.request_id

    assert ExposedEndpoints(Endpoints()).policy_check(context, {}) == expected
    assert current_request_id() is None


def test_internal_error_is_logged_with_the_action_and_the_cluster(caplog):
    """The line above the traceback names the request that failed."""

    class Failing(Endpoints):
        def policy_check(self, request, request_id):
            raise KeyError('zone')

        def subject(self, request):
            return f'About {request}: '

    context = ContextSerializer().deserialize_context({})
    with pytest.raises(oslo_messaging.ExpectedException):
        ExposedEndpoints(Failing()).policy_check(context, 'r1')

    assert caplog.messages == ['About r1: policy_check failed']


def test_context_with_unprintable_ids_drops_them():
    """An id with control characters does not reach the log."""
    context = ContextSerializer().deserialize_context({'user_id': 'u1\n', 'project_id': 'p1'})

    assert (context.user_id, context.project_id) == (None, 'p1')


def test_report_parked_of_a_check_reports_its_request():
    """A parked check is reported with its request and the id of its caller."""
    reports, error = [], ValueError('parked')
    endpoints = SimpleNamespace(deliver_error=lambda *report: reports.append(report))

    report_parked(
        endpoints,
        {'method': 'policy_check', 'args': {'request': '{}'}},
        {'request_id': 'r1'},
        error,
    )
    report_parked(endpoints, {'method': 'policy_attach', 'args': {}}, {}, error)

    assert reports == [('{}', 'r1', error)]


def test_dispatch_of_a_newer_version_names_the_contract_of_the_worker():
    """The refusal of a version says which one the worker has, so that a caller can use it."""
    refusing = Dispatcher([ExposedEndpoints(None)], ContextSerializer(), AccessPolicy)
    message = {'method': 'policy_check', 'version': '1.9'}

    with pytest.raises(oslo_messaging.UnsupportedVersion) as refused:
        refusing.dispatch(SimpleNamespace(message=message, ctxt={}, client_timeout=None))

    assert str(refused.value) == (
        'Endpoint does not support RPC version 1.9. Attempted method: policy_check; this worker '
        f'has contract {VERSION}'
    )
