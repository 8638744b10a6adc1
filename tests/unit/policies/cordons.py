"""Checks of clusters under cordons."""

import datetime

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from placement_worker.planning.places import Cordon, cordons_in_force
from placement_worker.policies.registry import Registry
from tests.factories import NOW, request

ZONES, REGIONS = ('a', 'b', 'c'), ('R1', 'R2')
CLOUD = {
    'regions': {
        'R1': {'zones': {'a': True, 'b': True}},
        'R2': {'zones': {'a': True, 'c': True}},
    },
    'home_region': 'R1',
}

REGISTRY = Registry.installed()

UNTIL = NOW + datetime.timedelta(days=1)


def cordon(**more):
    """A cordon that lasts a day."""
    return Cordon(until=more.pop('until', UNTIL), **more)


def decide(asked, *cordons, cloud=CLOUD, **more):
    """Return the reply to a request at NOW while these cordons are in the operator's file."""
    return Endpoints(
        Inventory.parse(cloud, 'test'),
        REGISTRY,
        now=lambda: NOW,
        cordons=lambda now: cordons_in_force(cordons, now),
        **more,
    ).policy_check(asked)


def scale_out(*policies, members=(), count=2, **more):
    """Return a request to create nodes."""
    return request('CLUSTER_SCALE_OUT', policies, members, inputs={'count': count}, **more)


def scale_in(*policies, members, count, **more):
    """Return a request to delete nodes."""
    return request('CLUSTER_SCALE_IN', policies, members, inputs={'count': count}, **more)


def redistributing(policy):
    """Return version 1.1 of a placement policy, which redistributes nodes of short places."""
    return {**policy, 'spec': {**policy['spec'], 'version': '1.1'}}
