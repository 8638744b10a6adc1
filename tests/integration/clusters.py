"""Clusters of a plain user with a load balancer, updated as by an engine."""

import copy
from collections.abc import Callable
from typing import Any

from placement_worker.handlers.service import Endpoints
from tests.integration import trusts
from tests.integration.cloud import Cloud
from tests.integration.service import Request, matching

Json = dict[str, Any]
WRITES = 'POST|PUT|DELETE'


class Cluster:
    """A cluster of a plain user; like an engine, it writes back the content of replies."""

    def __init__(self, openstack: Cloud, endpoints: Endpoints, name: str, size: int) -> None:
        self.openstack, self.endpoints, self.name = openstack, endpoints, name
        self.credentials = {'trust_id': openstack.make_trust()}
        self.project = trusts.project_of(openstack)
        self.nodes = trusts.as_nodes(openstack.add_servers(size))
        self.data: Json = {}
        self.policy = lb_policy()
        self.others: list[Json] = []

    @property
    def cluster(self) -> Json:
        profile = {'type': 'os.nova.server-1.0'}
        return {
            'id': self.name,
            'name': self.name,
            'project': self.project,
            'profile': profile,
            'nodes': self.nodes,
            'data': self.data,
        }

    @property
    def binding(self) -> Json:
        """The request to attach or detach the policy."""
        return {'cluster': self.cluster, 'policy': self.policy, 'credentials': self.credentials}

    def grow(self, count: int) -> list[str]:
        """Add nodes that the engine has created; return their ids."""
        new = trusts.as_nodes(self.openstack.add_servers(count))
        self.nodes = [*self.nodes, *new]
        return [node['id'] for node in new]

    def attach(self) -> Json:
        return self._bind(self.endpoints.policy_attach)

    def attach_also(self, policy: Json) -> Json:
        """Attach a further policy."""
        self.others, self.policy = [*self.others, self.policy], policy
        return self.attach()

    def detach(self) -> Json:
        return self._bind(self.endpoints.policy_detach)

    def end(self) -> None:
        """Detach the policy, which leaves nothing."""
        succeeded(self.detach())
        assert not any(self.remaining().values())

    def remaining(self) -> Json:
        """Return the load balancer objects of the cluster: kind -> objects."""
        octavia = self.openstack.connect('demo').load_balancer
        kinds = {
            'loadbalancers': octavia.load_balancers,
            'listeners': octavia.listeners,
            'pools': octavia.pools,
            'healthmonitors': octavia.health_monitors,
        }
        tag = f'placement-worker:cluster={self.name}'
        found = {
            kind: [part for part in listed() if tag in (part.tags or ())]
            for kind, listed in kinds.items()
        }
        members = [member for pool in found['pools'] for member in octavia.members(pool.id)]
        return {**found, 'members': members}

    def counts(self) -> list[int]:
        """Return the numbers of load balancers, listeners, pools, monitors and members."""
        return [len(objects) for objects in self.remaining().values()]

    def member_ids(self) -> set[str]:
        return {member.id for member in self.remaining()['members']}

    def adopt(self, node: Json) -> str:
        """Add a node that the engine has created; return its id."""
        self.nodes = [*self.nodes, node]
        return str(node['id'])

    def twin(self) -> 'Cluster':
        """Return a copy for another worker, with its own view of the nodes."""
        return copy.copy(self)

    def node(self, node_id: str) -> Json:
        return next(node for node in self.nodes if node['id'] == node_id)

    def added(self, ids: list[str], **more: Any) -> Json:
        data = {'creation': {'count': len(ids), 'nodes': ids}}
        return self.check('AFTER', 'CLUSTER_SCALE_OUT', data=data, **more)

    def check(self, target: str, action: str, **more: Any) -> Json:
        top = {key: more.pop(key) for key in ('dry_run', 'expires_at') if key in more}
        reply = self.endpoints.policy_check(
            {
                'target': target,
                **top,
                'action': {
                    'id': f'{self.name}-{action}-{len(self.nodes)}',
                    'action': action,
                    **more,
                },
                'cluster': self.cluster,
                'policies': [*self.others, self.policy],
                'credentials': self.credentials,
            }
        )
        self._write_back(reply['nodes'])
        return reply

    def remove(self, ids: list[str]) -> None:
        """Remove nodes that the engine has deleted."""
        self.nodes = [node for node in self.nodes if node['id'] not in ids]

    def shrink(self, count: int) -> Json:
        """Check a scale-in and remove its victims; return the reply."""
        reply = succeeded(self.check('BEFORE', 'CLUSTER_SCALE_IN', inputs={'count': count}))
        self.remove(reply['action']['data']['deletion']['candidates'])
        return reply

    @property
    def pool(self) -> str:
        return self.policy['data']['LoadBalancingPolicy']['data']['pool']

    def _bind(self, method: Callable[[object], Json]) -> Json:
        reply = method(self.binding)
        self.policy = {**self.policy, 'data': reply['policy']['data']}
        self.data = reply['cluster']['data'] if reply['cluster'] else self.data
        self._write_back(reply['nodes'])
        return reply

    def _write_back(self, patches: Json) -> None:
        self.nodes = [{**node, **patches.get(node['id'], {})} for node in self.nodes]


def lb_policy(version: str = '1.3', **properties: Any) -> Json:
    everything = {
        'pool': {'subnet': 'private-subnet', 'protocol_port': 8080},
        'vip': {'subnet': 'private-subnet'},
        'health_monitor': {'type': 'HTTP', 'url_path': '/health'},
        'lb_status_timeout': 60,
        **properties,
    }
    return {
        'id': 'balance',
        'spec': {'type': 'senlin.policy.loadbalance', 'version': version, 'properties': everything},
        'data': {},
    }


def succeeded(reply: Json) -> Json:
    """Return a reply that reports success."""
    result = reply['action']['data'] if 'action' in reply else reply
    assert result['status'] == 'OK', result['reason']
    return reply


def updates(seen: list[Request]) -> list[Request]:
    """Return the requests that changed a load balancer."""
    return matching(seen, WRITES, '/lbaas/')
