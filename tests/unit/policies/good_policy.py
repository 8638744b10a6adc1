"""A policy type that the registry accepts."""

from msgspec import Struct

from placement_worker.policies import base


class Properties(Struct, frozen=True, forbid_unknown_fields=True):
    size: int = 1


class Good(base.Policy):
    interface = (2, 0)
    name = 'test.good'
    versions = {'1.0': Properties}
    priority = 100
    targets = base.on(base.BEFORE, 'CLUSTER_SCALE_OUT')

    def check(self, request, state):
        return base.skipped('Nothing to do')
