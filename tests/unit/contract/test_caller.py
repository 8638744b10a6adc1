"""The caller's side of the contract."""

import datetime

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract import caller, rpc
from placement_worker.contract.model import CheckRequest, Spec
from placement_worker.errors import InvalidRequest
from placement_worker.handlers.in_process import InProcessCaller
from tests.factories import bind, deletion_policy, nodes, request

CHECK = request('CLUSTER_SCALE_IN', [deletion_policy()], nodes(a=2))
BIND = bind(deletion_policy())
REBALANCE = {'cluster': BIND['cluster'], 'policies': []}


class Recording(InProcessCaller):
    """Keeps what is sent."""

    def __init__(self, *worker):
        super().__init__(*worker)
        self.sent = []

    def _send(self, method, request, context):
        self.sent.append((method, type(request), context))
        return super()._send(method, request, context)


@pytest.fixture
def worker(registry):
    return Recording(Inventory(), registry)


CALLS = {
    'policy_check': (CHECK,),
    'policy_attach': (BIND,),
    'policy_detach': (BIND,),
    'policy_rebalance': (REBALANCE,),
    'policy_validate': (deletion_policy()['spec'],),
    'policy_type_list': (),
    'policy_type_get': ('senlin.policy.deletion-1.1',),
    'get_capabilities': (),
}


@pytest.mark.parametrize('method', rpc.METHODS, ids=lambda method: method.name)
def test_call_of_each_method_sends_and_returns_its_types(worker, method):
    """Each method sends the request type of the table, and decodes the reply type."""
    reply = getattr(worker, method.name)(*CALLS[method.name], context={'request_id': 'r'})

    ((name, sent, context),) = worker.sent
    assert (name, context) == (method.name, {'request_id': 'r'})
    assert sent is dict or sent is method.request
    assert msgspec.convert(reply, Spec if name == 'policy_validate' else method.reply) == reply


def test_validation_of_the_map_around_a_spec_says_what_to_pass(worker):
    """The argument is the spec, and the request on the bus has it as a key."""
    with pytest.raises(InvalidRequest) as raised:
        worker.policy_validate({'spec': deletion_policy()['spec']})

    assert str(raised.value) == (
        'Object missing required field `type` - at `$` (pass the value of `spec`, not the map '
        'around it)'
    )
    with pytest.raises(InvalidRequest, match=r'`type` - at `\$`$'):
        worker.policy_validate({'version': '1.0'})


def test_expiring_request_keeps_its_own_time():
    """A request with an expiry time keeps it; another one expires after the timeout."""
    asked = msgspec.convert(CHECK, CheckRequest)
    now = datetime.datetime.now(datetime.UTC)

    expiring = caller.expiring(asked, 60)

    assert abs((expiring.expires_at - now).total_seconds() - 60) < 10
    assert caller.expiring(expiring, 1) is expiring


@pytest.mark.parametrize(
    ('method', 'arguments', 'message'),
    [
        ('policy_check', (CHECK, 'r'),
         'Expected a map with `request_id`, got `str` - at `context`'),
        ('policy_check', (CHECK, {'request_id': 1}),
         'Expected `str`, got `int` - at `context.request_id`'),
        ('policy_check', (CHECK, {'requestid': 'r'}),
         'Unknown key `requestid` (did you mean `request_id`?) - at `context`'),
        ('policy_check', (CHECK, {'request_id': 'r', 'globalrequest_id': 'r'}),
         'Unknown key `globalrequest_id` (did you mean `global_request_id`?) - at `context`'),
        ('policy_check', ({**CHECK, 'dryrun': True},),
         'Unknown key `dryrun` (did you mean `dry_run`?) - at `$`'),
        ('policy_check', ({**CHECK, 'action': {'id': 'a', 'action': 'NODE_CREATE', 'input': {}}},),
         'Unknown key `input` (did you mean `inputs`?) - at `$.action`'),
        ('policy_rebalance', ({**REBALANCE, 'options': {'max_surg': 2}},),
         'Unknown key `max_surg` (did you mean `max_surge`?) - at `$.options`'),
        ('policy_attach', ({**BIND, 'credential': {'trust_id': 't'}},),
         'Unknown key `credential` (did you mean `credentials`?) - at `$`'),
    ],
)  # fmt: skip
def test_request_that_would_lose_an_option_or_an_id_is_not_sent(worker, method, arguments, message):
    """A misspelt key of a request, or a mistake in the context, raises before anything is sent."""
    with pytest.raises(InvalidRequest) as raised:
        getattr(worker, method)(*arguments)

    assert str(raised.value) == message
    assert worker.sent == []


def test_request_with_keys_of_an_engine_is_sent(worker):
    """Keys of an engine that resemble no key of the contract are removed as before."""
    worker.policy_check({**CHECK, 'tags': [], 'action': {**CHECK['action'], 'outputs': {}, 1: 2}})

    assert worker.sent[0][1] is CheckRequest


def test_context_with_the_keys_of_an_engine_is_sent():
    """The keys of oslo.context that are not sent are no mistakes."""
    context = {'request_id': None, 'resource_uuid': 'u', 'user': 'u', 'project': 'p', 'roles': []}

    assert caller.checked_context(context) is context
    assert caller.checked_context(None) == {}
