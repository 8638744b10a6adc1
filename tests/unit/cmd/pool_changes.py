"""Changes of a pool, as a plan shows them."""

from placement_worker.cmd.plan_changes import Changes, PoolChange

POOL = {
    'pool': 'p1',
    'added': ['n4', 'n5'],
    'removed': [],
    'already_there': ['n1'],
    'failed': {'n6': 'no address'},
    'api_calls': 3,
    'updates': 2,
    'estimated_s': 6.5,
    'waited_s': 0,
}


def with_pool(**details):
    change = PoolChange('balanced', {**POOL, **details})
    return Changes('CLUSTER_SCALE_OUT', 'a1', 'AFTER', 'web', 'OK', 'done', size=5, pools=[change])
