"""Attach and detach policies through the worker."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from oslo_context import context as oslo_context
from senlin.objects import cluster_policy

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import Binding, BindingPatch, BindReply, BindRequest
from placement_worker.engines.senlin import requests, worker_client, write_back

LOG = logging.getLogger(__name__)
Method = Callable[[PolicyClient, BindRequest, Mapping[str, str]], BindReply]


def attach(policy: Any, cluster: Any, *, enabled: bool) -> tuple[bool, Any]:
    """Attach a policy in the place of Senlin's `Policy.attach`.

    :returns: True and the data of the binding, or False and the reason. The data have the version
        that Senlin's own class expects, so that Senlin can continue with them without the worker.
    """
    reply = _bind(
        PolicyClient.policy_attach, requests.policy_binding(policy, enabled=enabled), cluster
    )
    if reply.status != 'OK':
        return False, write_back.failure([policy.name], reply.reason)
    data, name = reply.policy.data, type(policy).__name__
    return True, {**data, name: {**data[name], 'version': policy.VERSION}} if name in data else data


def detach(policy: Any, cluster: Any) -> tuple[bool, str]:
    """Detach a policy in the place of Senlin's `Policy.detach`.

    :returns: whether that succeeded, and the reason for the user.
    """
    bound = cluster_policy.ClusterPolicy.get(oslo_context.get_current(), cluster.id, policy.id)
    sent = requests.policy_binding(policy, data=bound.data if bound else None)
    reply = _bind(PolicyClient.policy_detach, sent, cluster)
    if reply.status != 'OK':
        return False, write_back.failure([policy.name], reply.reason)
    return True, reply.reason


def _bind(method: Method, policy: Binding, cluster: Any) -> BindReply:
    """Call the worker, and write back the changes of the nodes and the cluster."""
    context = oslo_context.get_current()
    request = requests.bind_request(context, cluster.id, policy)
    try:
        reply = worker_client.call(method, request, context)
    except worker_client.FAILURES as exc:
        patch = BindingPatch(policy.id, policy.data)
        reply = BindReply(status='ERROR', reason=str(exc), policy=patch, cluster=None, nodes={})
    for warning in reply.warnings:
        LOG.warning('Policy %s of cluster %s: %s', policy.name, cluster.id, warning)
    write_back.write_nodes(context, reply.nodes, cluster.nodes)
    write_back.write_cluster(context, cluster.id, reply.cluster, cluster)
    LOG.info('Policy %s of cluster %s: %s: %s', policy.name, cluster.id, reply.status, reply.reason)
    return reply
