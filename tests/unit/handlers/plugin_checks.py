"""Checks of a plugin that returns given values."""

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.policies import base
from placement_worker.policies.base import Outcome
from placement_worker.policies.registry import Registry
from tests.factories import nodes, request
from tests.unit.policies.good_policy import Good

CLOUD = Inventory.parse(
    {'regions': {'r1': {'zones': {'az1': True}}, 'r2': {'zones': {'az2': True}}}}, 'the test'
)
GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}
NAMED = f'test.good-1.0, a plugin of {__name__}'


def decide(
    action='CLUSTER_SCALE_OUT',
    clouds=CLOUD,
    asked=None,
    change=None,
    returns_data=False,
    **values,
):
    """Return the data and the warnings of a check of a plugin that returns some values.

    `change`: changes the state of the plugin in place. `returns_data`: whether the plugin returns
    the data of the state.
    """

    class Writing(Good):
        interface = (2, 0)
        targets = frozenset((phase, action) for phase in (base.BEFORE, base.AFTER))

        def check(self, request, state):
            if change:
                change(state)
            if returns_data:
                return Outcome('APPLIED', 'r', data=state.data)
            return Outcome('APPLIED', 'r', **values)

    Writing.__module__ = __name__
    worker = Endpoints(clouds, Registry([('test.good-1.0', Writing)]))
    reply = worker.policy_check(request(action, [GOOD], nodes(az1=3), **(asked or {})))
    return reply['action']['data'], reply['warnings']
