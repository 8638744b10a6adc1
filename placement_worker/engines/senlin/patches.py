"""The patch points: the methods of Senlin 16 that the plugin replaces.

This is the entry point in `senlin.endpoints`, which every service of Senlin imports when it
initializes its environment. While senlin.conf names no broker, each replacement calls Senlin's own
method, except `_connect`: nodes keep their regions.
"""

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg
from senlin.common import consts, exception
from senlin.common.context import get_admin_context
from senlin.drivers.os.nova_v2 import NovaClient
from senlin.engine.actions.base import Action
from senlin.engine.actions.node_action import NodeAction
from senlin.objects import node as nodes
from senlin.policies import base
from senlin.policies.deletion_policy import DeletionPolicy
from senlin.policies.lb_policy import LoadBalancingPolicy
from senlin.policies.region_placement import RegionPlacementPolicy
from senlin.policies.zone_placement import ZonePlacementPolicy
from senlin.profiles.base import Profile
from senlin.profiles.os.nova.server import ServerProfile

from placement_worker.engines.client_setup import GROUP
from placement_worker.engines.senlin import checks, worker_client
from placement_worker.engines.senlin.worker_client import is_configured

LOG = logging.getLogger(__name__)
# The patched policy classes keep name and version, which are keys of the binding data.
POLICIES = (DeletionPolicy, LoadBalancingPolicy, RegionPlacementPolicy, ZonePlacementPolicy)
# The methods with which profiles connect to the services that a server needs.
SERVICES = ('compute', 'network', 'glance', 'block_storage')
# The key of a node's `data` for the region in which its server was created.
SERVER_REGION = 'server_region'


def install() -> None:
    cfg.CONF.register_opts(worker_client.OPTIONS, GROUP)
    _replace(Action, 'policy_check', _policy_check)
    for policy in POLICIES:
        _replace(policy, 'attach', _attach)
        _replace(policy, 'detach', _detach)
    _replace(NovaClient, 'wait_for_server', _wait_for_server)
    _replace(NodeAction, 'do_recover', _do_recover)
    _replace(ServerProfile, 'do_create', _do_create)
    for service in SERVICES:
        _replace(Profile, service, _connect, always=True)  # nodes keep their regions
    if is_configured():
        LOG.info('placement-worker decides for the policies of %s', ', '.join(sorted(checks.ORDER)))
    else:
        LOG.warning(
            '[placement_worker] transport_url is not set in senlin.conf: Senlin decides by itself'
        )


def _replace(
    owner: Any, name: str, replacement: Callable[..., Any], *, always: bool = False
) -> None:
    """Replace a method; the replacement gets Senlin's own method as its first argument."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        if always or is_configured():
            return replacement(original, *args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, replaced)


def _policy_check(original: Any, action: Any, cluster_id: str, target: Any) -> Any:
    check = checks.check_policies if target in ('BEFORE', 'AFTER') else original
    return check(action, cluster_id, target)


def _attach(_: Any, policy: Any, cluster: Any, enabled: bool = True) -> tuple[bool, Any]:
    return checks.attach_policy(policy, cluster, enabled=enabled)


def _detach(_: Any, policy: Any, cluster: Any) -> tuple[bool, str]:
    return checks.detach_policy(policy, cluster)


def _do_recover(original: Any, action: Any) -> tuple[Any, str]:
    """Check the policies also after a node recovers as part of CLUSTER_RECOVER.

    Senlin 16 checks none then, so the pool would keep the address of the old server.

    :source: senlin/engine/actions/cluster_action.py (`do_recover`) and node_action.py (`execute`).
    """
    result, reason = original(action)
    is_derived = action.cause == consts.CAUSE_DERIVED
    if result == action.RES_OK and is_derived and action.entity.cluster_id:
        action.policy_check(action.entity.cluster_id, 'AFTER')
        if action.data['status'] == base.CHECK_ERROR:
            return action.RES_ERROR, f'Policy check: {action.data["reason"]}'
    return result, reason


def _do_create(original: Any, profile: Any, node: Any) -> Any:
    """Store the planned region of a node, before the creation of its server may fail halfway."""
    region = (node.data.get('placement') or {}).get('region_name')
    if region:
        node.data[SERVER_REGION] = region
        nodes.Node.update(get_admin_context(), node.id, {'data': node.data})
    return original(profile, node)


def _connect(original: Any, profile: Any, obj: Any) -> Any:
    """Connect to the region of the node's server.

    Senlin connects to the region of the profile, or to its default region, whatever the placement
    of the node says. Nodes that were created without the plugin have their servers in that region,
    so each node keeps its own.
    """
    data = getattr(obj, 'data', None)  # an object without data is no node
    region = data.get(SERVER_REGION) if isinstance(data, Mapping) else None
    if region is None:
        return original(profile, obj)
    original_context = profile.context
    profile.context = {**original_context, 'region_name': region}
    try:
        return original(profile, obj)
    finally:
        profile.context = original_context


def _wait_for_server(original: Any, client: Any, server: str, *args: Any, **kwargs: Any) -> Any:
    """Add the cause of a failed server to the error, which becomes the reason of the node.

    Senlin 16 waits with openstacksdk, whose error names the status ERROR alone: "Server:ID
    transitioned to failure state ERROR". Senlin then deletes the server, and Nova's `fault` with
    it. Placement policies need the cause, because it may be a lack of capacity.

    :source: senlin/profiles/os/nova/server.py (`do_create`); `wait_for_status` in
        openstack/resource.py of openstacksdk 4.
    """
    try:
        return original(client, server, *args, **kwargs)
    except exception.InternalError as exc:
        fault = _fault(client, server)
        if not fault:
            raise
        text = f'{str(exc).rstrip(".")}: {fault}'
        raise exception.InternalError(code=exc.code, message=text) from exc


def _fault(client: Any, server_id: str) -> str | None:
    try:
        fault = client.conn.compute.get_server(server_id).fault
    except Exception as exc:  # it must not hide the first error
        LOG.warning('Cannot read the fault of server %s: %s', server_id, exc)
        return None
    message = fault.get('message') if isinstance(fault, dict) else None
    return message if isinstance(message, str) else None


install()
