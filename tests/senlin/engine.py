"""Helpers for Senlin: fill its database as its conductor does, and check policies."""

from senlin.common import consts
from senlin.common.context import RequestContext
from senlin.engine.actions.base import Action
from senlin.engine.cluster import Cluster
from senlin.engine.node import Node
from senlin.objects import action as actions
from senlin.objects import cluster as clusters
from senlin.objects import cluster_policy as bindings
from senlin.objects import credential as credentials
from senlin.objects import node as nodes
from senlin.policies.base import Policy
from senlin.profiles.base import Profile

USER, PROJECT, TRUST = 'u' * 32, 'p' * 32, 'trust-of-the-owner'
SERVER = {
    'flavor': 'm1.tiny',
    'image': 'cirros',
    'networks': [],
    'admin_pass': 'a-password',
    'user_data': 'a-secret',
}


def context():
    """Return the context of a user's request, with an id of its own."""
    return RequestContext(user_id=USER, project_id=PROJECT, is_admin=False)


def add_credential():
    credentials.Credential.update_or_create(
        context(), {'user': USER, 'project': PROJECT, 'cred': {'openstack': {'trust': TRUST}}}
    )


def add_profile(**properties):
    spec = {'type': 'os.nova.server', 'version': '1.0', 'properties': {**SERVER, **properties}}
    return Profile.create(context(), 'server', spec)


def add_stack_profile():
    spec = {'type': 'os.heat.stack', 'version': '1.0', 'properties': {'template': {'Template': {}}}}
    return Profile.create(context(), 'stack', spec)


def add_cluster(*zones, profile=None, places=(), status=consts.NS_ACTIVE, policies=None, **sizes):
    """Add a cluster with a created node in each zone and policies, whose specs are given by name.

    `places` has maps of region and zone.
    """
    profile = profile or add_profile()
    placements = [{'zone': zone} for zone in zones] + list(places)
    ours = context()
    owner = {'user': USER, 'project': PROJECT, 'domain': ''}
    cluster = Cluster(
        'web', len(placements), profile.id, context=ours, status='ACTIVE', **owner, **sizes
    )
    cluster.store(ours)
    for placement in placements:
        add_node(cluster, profile, placement, status)
    cluster = Cluster.load(ours, cluster.id)
    bound(cluster, **policies or {})
    return cluster


def add_node(cluster, profile, placement=None, status=consts.NS_ACTIVE):
    """Add a node that the engine has created, or will create if its status is INIT."""
    ours = context()
    index = clusters.Cluster.get_next_index(ours, cluster.id)
    more = {'index': index, 'user': USER, 'project': PROJECT, 'domain': '', 'data': {}}
    if placement is not None:
        more['data'] = {'placement': placement}
    node = Node(f'web-{index}', profile.id, cluster.id, context=ours, **more)
    node.store(ours)
    if status != consts.NS_INIT:
        node.do_create(ours)
        node.set_status(ours, status)
    return node


def add_policy(name, spec):
    policy = Policy(name, spec, user=USER, project=PROJECT, domain='')
    policy.store(context())
    return policy


def attach(cluster, name, spec, **binding):
    policy = add_policy(name, spec)
    done, reason = cluster.attach_policy(context(), policy.id, binding)
    if done:
        cluster.store(context())
    return policy, done, reason


def bound(cluster, **specs):
    """Attach policies successfully, and return them by name."""
    made = {}
    for name, spec in specs.items():
        made[name], done, reason = attach(cluster, name, spec)
        assert done, reason
    return made


def add_action(target, name, cause=consts.CAUSE_RPC, **inputs):
    cluster_id = target.id if isinstance(target, Cluster) else target.cluster_id
    more = {'name': 'test', 'cluster_id': cluster_id, 'cause': cause, 'inputs': inputs}
    action_id = Action.create(context(), target.id, name, force=True, **more)
    return Action.load(context(), action_id)


def checked(action, target='BEFORE'):
    """Check policies as the engine does, and read the action's data from the database."""
    cluster_id = (
        action.entity.id if isinstance(action.entity, Cluster) else action.entity.cluster_id
    )
    action.policy_check(cluster_id, target)
    stored = actions.Action.get(context(), action.id).data
    return {**stored, 'status': action.data['status'], 'reason': action.data['reason']}


def check(target, name, phase='BEFORE', **inputs):
    return checked(add_action(target, name, **inputs), phase)


def rejection(target, name, **inputs):
    """Return the reason of a check that ends in ERROR."""
    data = check(target, name, **inputs)
    assert data['status'] == 'ERROR'
    return data['reason']


def refusal(cluster, name, spec):
    """Return the reason for which a policy is not attached."""
    _, done, reason = attach(cluster, name, spec)
    assert not done
    return reason


def node_of(node_id):
    return nodes.Node.get(context(), node_id)


def data_of(cluster, policy):
    return bindings.ClusterPolicy.get(context(), cluster.id, policy.id).data
