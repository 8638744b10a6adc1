"""Attaching and detaching a policy."""

import math

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import OctaviaSettings
from placement_worker.contract.model import BindRequest, NodePatch
from placement_worker.errors import Rejected
from placement_worker.handlers import bindings
from placement_worker.handlers.decision_state import Conditions
from placement_worker.policies.base import BindingOutcome
from placement_worker.policies.deletion import Deletion
from tests.factories import NOW, bind, deletion_policy

REQUEST = msgspec.convert(
    bind({**deletion_policy(), 'data': {'kept': 1}}),
    BindRequest,
)
CONDITIONS = Conditions(Inventory(), OctaviaSettings(), 1000, NOW, left_s=lambda: math.inf)


class Scripted(Deletion):
    """Does what its property does."""

    type_name = 'test.scripted-1.0'

    def attach(self, request, state):
        return self.properties()

    def detach(self, request, state):
        return self.properties()


def rejecting():
    raise Rejected('It is locked.', nodes={'n1': NodePatch({'x': 1})})


def failing():
    raise KeyError('zone')


@pytest.mark.parametrize(
    ('act', 'reason'),
    [(bindings.attach, 'Policy attached.'), (bindings.detach, 'Policy detached.')],
)
def test_outcome_of_a_policy_is_the_reply(act, reason):
    """The reply has the data and the warnings of the outcome."""
    policy = Scripted(lambda: BindingOutcome({'new': 2}, warnings=['Mind it']))

    reply = act(policy, REQUEST, CONDITIONS)

    assert (reply.status, reply.reason, reply.warnings) == ('OK', reason, ['Mind it'])
    assert reply.policy.data == {'new': 2}


@pytest.mark.parametrize('act', [bindings.attach, bindings.detach])
def test_rejection_keeps_the_data_of_the_binding(act):
    """A rejected request keeps the data of the binding, and reports the nodes it changed."""
    reply = act(Scripted(rejecting), REQUEST, CONDITIONS)

    assert (reply.status, reply.reason) == ('ERROR', 'It is locked.')
    assert reply.policy.data == {'kept': 1}
    assert reply.nodes == {'n1': NodePatch({'x': 1})}


@pytest.mark.parametrize('act', [bindings.attach, bindings.detach])
def test_internal_error_names_the_policy_type(act):
    """An internal error of a policy is raised with a note that names its type."""
    with pytest.raises(KeyError) as raised:
        act(Scripted(failing), REQUEST, CONDITIONS)

    assert raised.value.__notes__ == [f'in test.scripted-1.0, a plugin of {__name__}']


@pytest.mark.parametrize('act', [bindings.attach, bindings.detach])
def test_result_of_a_wrong_type_names_the_policy_type(act):
    """A policy that returns no `BindingOutcome` raises an error that names its type."""
    with pytest.raises(TypeError, match='returned NoneType, expected a BindingOutcome') as raised:
        act(Scripted(lambda: None), REQUEST, CONDITIONS)

    assert raised.value.__notes__ == [f'in test.scripted-1.0, a plugin of {__name__}']


def test_attach_to_an_unsupported_profile_type_is_rejected():
    """A policy cannot be attached to a profile type that it does not support."""
    policy = Scripted(lambda: BindingOutcome({}))
    policy.profile_types = frozenset({'os.heat.stack-1.0'})

    reply = bindings.attach(policy, REQUEST, CONDITIONS)

    assert reply.status == 'ERROR'
    assert reply.reason.startswith('Policy not applicable on profile type: ')
