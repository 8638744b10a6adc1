"""The methods of the contract: decode, one call, encode. Nothing of the messaging layer is needed here."""

import datetime
import difflib
import os
import socket
from importlib import metadata
from typing import Any

from placement_worker import actions, chain, codec
from placement_worker.cloud import Clouds
from placement_worker.cloud.snapshot import Snapshot
from placement_worker.errors import InvalidRequest, Rejected, UnsupportedAction
from placement_worker.model import ActionPatch, Capabilities, CheckReply, CheckRequest
from placement_worker.policies.base import State
from placement_worker.policies.registry import Registry

MAX_NODES_PER_CLUSTER = 1000
MAX_REQUEST_BYTES = 64 * 2**20


class Endpoints:
    """The worker's methods. Each takes a request as plain data or as one JSON string, and answers alike."""

    def __init__(
        self,
        clouds: Clouds,
        registry: Registry,
        max_nodes: int = MAX_NODES_PER_CLUSTER,
        max_bytes: int = MAX_REQUEST_BYTES,
    ) -> None:
        """Wire the worker.

        :param max_nodes: what a creation may lead to at most, in nodes a cluster.
        :param max_bytes: the largest request, as JSON.
        """
        self._clouds = clouds
        self._registry = registry
        self._max_nodes = max_nodes
        self._max_bytes = max_bytes
        self._started_at = datetime.datetime.now(datetime.UTC).replace(microsecond=0)

    def policy_check(self, request: object) -> Any:
        """Decide one check: CheckRequest in, CheckReply out.

        :raises Refused: the request is not well-formed; nothing was done.
        """
        asked = codec.decode(request, CheckRequest, max_bytes=self._max_bytes)
        _validate(asked)
        bound = [
            chain.Bound(binding, self._registry.policy(binding.spec, f'$.policies[{i}].spec'))
            for i, binding in enumerate(asked.policies)
            if binding.enabled
        ]
        return codec.encode(self._decide(asked, bound), like=request)

    def get_capabilities(self, request: object) -> Any:
        """Who answers, and what it can do."""
        codec.decode(request, dict[str, Any], max_bytes=self._max_bytes)
        capabilities = Capabilities(
            version=metadata.version('placement-worker'),
            policy_types=sorted(self._registry.types),
            hostname=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
        )
        return codec.encode(capabilities, like=request)

    def _decide(self, request: CheckRequest, bound: list[chain.Bound]) -> CheckReply:
        try:
            cloud = self._clouds.acting_for(request.credentials, request.cluster.project)
        except Rejected as exc:
            data = {**request.action.data, 'status': 'ERROR', 'reason': str(exc)}
            return CheckReply(ActionPatch(request.action.id, data), cluster=None, nodes={}, decisions=[])
        state = State(request.action.data, Snapshot(cloud, request.cluster), self._max_nodes)
        return chain.run(bound, request, state)


def _validate(request: CheckRequest) -> None:
    """What the shape alone does not say.

    :raises UnsupportedAction: Senlin has no such action.
    :raises InvalidRequest: the action's node is missing, or a node stands in the cluster twice.
    """
    name = request.action.action
    if name not in actions.ALL:
        near = difflib.get_close_matches(name, sorted(actions.ALL), n=1)
        hint = f'; did you mean `{near[0]}`?' if near else ''
        raise UnsupportedAction(f'Expected an action of Senlin, got `{name[:80]}` - at `$.action.action`{hint}')
    if name in actions.OF_A_NODE and request.action.node is None:
        raise InvalidRequest(f'Expected `object` for {name}, got `null` - at `$.action.node`')
    seen: set[str] = set()
    for i, node in enumerate(request.cluster.nodes):
        if node.id in seen:
            raise InvalidRequest(f'Expected each node once, got `{node.id}` again - at `$.cluster.nodes[{i}].id`')
        seen.add(node.id)
