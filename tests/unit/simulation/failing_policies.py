"""Policies of plugins with mistakes of their authors."""

from placement_worker.policies.base import skipped
from tests.unit.policies.good_policy import Good

GOOD = {'id': 'p', 'spec': {'type': Good.name, 'version': '1.0', 'properties': {}}}


class Raising(Good):
    interface = (2, 0)

    def check(self, request, state):
        raise KeyError('zone')


class RaisingAtStart(Good):
    interface = (2, 0)

    def __init__(self, properties):
        raise KeyError('zone')


class Changing(Good):
    interface = (2, 0)

    def check(self, request, state):
        request.action.inputs['count'] = 99
        return skipped('The action has another count.')
