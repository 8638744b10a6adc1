"""Attaching and detaching our policies, by the worker."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from oslo_context import context as oslo_context
from senlin.objects import cluster_policy as bindings

from placement_worker.client.rpc_client import PolicyClient
from placement_worker.contract.model import Binding, BindingPatch, BindReply, BindRequest
from placement_worker.engines.senlin import requests, worker_client, write_back

LOG = logging.getLogger(__name__)
Method = Callable[[PolicyClient, BindRequest, Mapping[str, str]], BindReply]


def attach(policy: Any, cluster: Any, *, enabled: bool) -> tuple[bool, Any]:
    """Attach a policy, as `Policy.attach` of Senlin.

    :returns: whether that worked, and the data that the binding keeps, of the version that Senlin's
        class looks for, so that Senlin by itself can go on with them; else why not.
    """
    reply = _bind(
        PolicyClient.policy_attach, requests.sent_binding(policy, enabled=enabled), cluster
    )
    if reply.status != 'OK':
        return False, write_back.failure([policy.name], reply.reason)
    data, name = reply.policy.data, type(policy).__name__
    return True, {**data, name: {**data[name], 'version': policy.VERSION}} if name in data else data


def detach(policy: Any, cluster: Any) -> tuple[bool, str]:
    """Detach a policy, as `Policy.detach` of Senlin.

    :returns: whether that worked, and what to tell.
    """
    bound = bindings.ClusterPolicy.get(oslo_context.get_current(), cluster.id, policy.id)
    sent = requests.sent_binding(policy, data=bound.data if bound else None)
    reply = _bind(PolicyClient.policy_detach, sent, cluster)
    if reply.status != 'OK':
        return False, write_back.failure([policy.name], reply.reason)
    return True, reply.reason


def _bind(method: Method, policy: Binding, cluster: Any) -> BindReply:
    """Have the worker do it, and write down what became of the nodes and the cluster."""
    context = oslo_context.get_current()
    request = requests.bind_request(context, cluster.id, policy)
    try:
        reply = worker_client.ask(method, request, context)
    except worker_client.FAILURES as exc:
        patch = BindingPatch(policy.id, policy.data)
        reply = BindReply(status='ERROR', reason=str(exc), policy=patch, cluster=None, nodes={})
    for warning in reply.warnings:
        LOG.warning('Policy %s of cluster %s: %s', policy.name, cluster.id, warning)
    write_back.write_nodes(context, reply.nodes, cluster.nodes)
    write_back.write_cluster(context, cluster.id, reply.cluster, cluster)
    LOG.info('Policy %s of cluster %s: %s: %s', policy.name, cluster.id, reply.status, reply.reason)
    return reply
