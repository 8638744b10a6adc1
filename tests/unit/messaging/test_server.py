"""What the methods that callers reach do around the endpoints."""

import pytest
from oslo_context.context import RequestContext

from placement_worker.cloud.request_id import current_request_id
from placement_worker.messaging.server import ContextSerializer, ExposedEndpoints

OURS = 'req-0f3a1b2c-0d4e-4f56-8a9b-0c1d2e3f4a5b'
GLOBAL = 'req-99999999-0d4e-4f56-8a9b-0c1d2e3f4a5b'


class Endpoints:
    """Answers with the id that services of the cloud would be sent."""

    def policy_check(self, request, request_id):
        return current_request_id()


@pytest.mark.parametrize(
    ('ids', 'sent'),
    [
        ({'request_id': OURS}, OURS),
        ({'request_id': OURS, 'global_request_id': GLOBAL}, GLOBAL),
        ({'request_id': 'mine'}, None),
    ],
)
def test_services_are_sent_the_callers_request_id_or_the_global_one(ids, sent):
    context = ContextSerializer().deserialize_context(ids)

    assert ExposedEndpoints(Endpoints()).policy_check(context, {}) == sent
    assert current_request_id() is None


def test_a_caller_without_a_request_id_gets_one_that_services_take():
    context = ContextSerializer().deserialize_context({})

    assert isinstance(context, RequestContext)
    assert ExposedEndpoints(Endpoints()).policy_check(context, {}) == context.request_id
