"""Write the requests and replies that the manual shows: python tools/exchanges.py [FOLDER].

A small engine takes the cluster `web` through its life on an embedded cloud: it attaches a load
balancer, scales out, resizes, replaces a node, recovers one, scales in, and detaches the load
balancer. It asks BEFORE and AFTER each action, and stores the changes of each reply.
"""

import copy
import datetime
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.service import Endpoints, WorkerSettings
from placement_worker.policies.registry import Registry

FOLDER = Path(__file__).parents[1] / 'doc' / 'source' / 'exchanges'
WIDTH = 79
NOW = datetime.datetime(2026, 1, 31, 12, tzinfo=datetime.UTC)
ZONES = ('az1', 'az2', 'az3')
CLOUD = {
    'zones': dict.fromkeys(ZONES, True),
    'networks': {'private': {'id': 'net1'}},
    'subnets': {'private-subnet': {'id': 'sub1', 'network': 'private', 'cidr': '10.0.0.0/24'}},
    'servers': {
        f'server-{number}': {'addresses': {'private': [{'addr': f'10.0.0.{number}', 'version': 4}]}}
        for number in range(11, 31)
    },
}

Json = dict[str, Any]


def policy(name: str, kind: str, version: str, **properties: Any) -> Json:
    """Return a binding without data."""
    spec = {'type': f'senlin.policy.{kind}', 'version': version, 'properties': properties}
    return {'id': f'pol-{name}', 'name': name, 'data': {}, 'spec': spec}


class Engine:
    """An engine with one cluster, which keeps every request and reply.

    :ivar exchanged: name -> request and reply.
    """

    def __init__(self) -> None:
        """Make a cluster of three nodes with three policies."""
        ticks = itertools.count()
        self._worker = Endpoints(
            Inventory.parse(CLOUD, 'the cloud of the manual'),
            Registry.installed(),
            WorkerSettings(now=lambda: NOW, clock=lambda: next(ticks) * 0.0004),
        )
        self.exchanged: dict[str, tuple[Json, Json]] = {}
        self.cluster: Json = {
            'id': 'c1',
            'name': 'web',
            'user': 'u1',
            'project': 'p1',
            'min_size': 2,
            'max_size': 10,
            'desired_capacity': 3,
            'profile': {'id': 'pr1', 'type': 'os.nova.server-1.0'},
            'data': {},
            'nodes': [self._node(n, {'placement': {'zone': f'az{n}'}}) for n in (1, 2, 3)],
        }
        self.policies = [
            policy('zones', 'zone_placement', '1.0', zones=[{'name': zone} for zone in ZONES]),
            policy('victims', 'deletion', '1.1', criteria='OLDEST_FIRST'),
            policy(
                'balance',
                'loadbalance',
                '1.1',
                pool={'subnet': 'private-subnet'},
                vip={'subnet': 'private-subnet'},
            ),
        ]

    @property
    def nodes(self) -> list[Json]:
        """The members of the cluster."""
        nodes: list[Json] = self.cluster['nodes']
        return nodes

    def bind(self, method: str) -> None:
        """Attach or detach the load balancer."""
        request = {
            'cluster': self.cluster,
            'policy': self.policies[-1],
            'credentials': {'trust_id': 'trust-1'},
            'expires_at': '2026-01-31T12:10:00Z',
        }
        reply = self._send(f'policy_{method}', method, request)
        self.policies[-1]['data'] = reply['policy']['data']

    def check(self, name: str, phase: str, action: Json, explain: str = 'none') -> Json:
        """Check the policies of an action, and return the action's new data."""
        request = {
            'target': phase,
            'explain': explain,
            'credentials': {'trust_id': 'trust-1'},
            'expires_at': '2026-01-31T12:10:00Z',
            'action': {'id': f'action-{name}', 'cause': 'RPC Request', **action},
            'cluster': self.cluster,
            'policies': self.policies,
        }
        reply = self._send('policy_check', f'{name}-{phase.lower()}', request)
        data: Json = reply['action']['data']
        return data

    def rebalance(self, policies: list[Json]) -> tuple[Json, Json]:
        """Plan a rebalance, and return the request and the reply."""
        request = {
            'credentials': {'trust_id': 'trust-1'},
            'expires_at': '2026-01-31T12:10:00Z',
            'options': {'max_surge': 1, 'min_age_s': 3600},
            'cluster': self.cluster,
            'policies': policies,
        }
        reply: Json = self._worker.policy_rebalance(copy.deepcopy(request))
        return request, reply

    def create(self, data: Json) -> list[str]:
        """Create nodes at their planned places, and return their ids."""
        first = 1 + max(node['index'] for node in self.nodes)
        made = [
            self._node(number, {'placement': place})
            for number, place in enumerate(data['placement']['placements'], start=first)
        ]
        self.nodes.extend(made)
        self.cluster['desired_capacity'] = len(self.nodes)
        return [node['id'] for node in made]

    def delete(self, node_ids: list[str]) -> None:
        """Delete nodes."""
        self.cluster['nodes'] = [node for node in self.nodes if node['id'] not in node_ids]

    def add(self, number: int, zone: str) -> None:
        """Add a node that exists already."""
        self.nodes.append(self._node(number, {'placement': {'zone': zone}}))

    def unplaced(self, number: int) -> Json:
        """Return a node without a place, which the cluster does not list."""
        return self._node(number, {})

    def recreate(self, node: Json) -> None:
        """Give a node a new server, and note that for the policies."""
        node |= {'status': 'ACTIVE', 'physical_id': 'server-29'}
        node['data']['recovery'] = 'RECREATE'

    def _node(self, number: int, data: Json) -> Json:
        return {
            'id': f'n{number}',
            'name': f'web-{number}',
            'index': number,
            'status': 'ACTIVE',
            'physical_id': f'server-{10 + number}',
            'created_at': f'2026-01-{number:02}T00:00:00Z',
            'data': data,
        }

    def _send(self, method: str, name: str, request: Json) -> Json:
        """Send a request, and store the changes of nodes and of the cluster."""
        sent = copy.deepcopy(request)
        received: Json = getattr(self._worker, method)(sent)
        self.exchanged[name] = sent, received
        reply = copy.deepcopy(received)
        for node in self.nodes:
            node.update(reply['nodes'].get(node['id'], {}))
        self.cluster |= reply['cluster'] or {}
        return reply


def life() -> Engine:
    """Take the cluster through its life."""
    engine = Engine()
    engine.bind('attach')

    action: Json = {'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 2}}
    _grow(engine, 'scale-out', action, explain='summary')

    resize = {'adjustment_type': 'EXACT_CAPACITY', 'number': 6, 'strict': False}
    _grow(engine, 'resize', {'action': 'CLUSTER_RESIZE', 'inputs': resize})

    action = {'action': 'CLUSTER_REPLACE_NODES', 'inputs': {'candidates': {'n1': 'n7'}}}
    data = engine.check('replace', 'BEFORE', action)
    engine.delete(['n1'])
    engine.add(7, 'az1')
    engine.check('replace', 'AFTER', _done(action, data))

    failed = engine.nodes[1]
    failed['status'] = 'ERROR'
    action = {'action': 'NODE_RECOVER', 'inputs': {'operation': 'RECREATE'}, 'node': failed}
    data = engine.check('recover', 'BEFORE', action)
    engine.recreate(failed)
    engine.check('recover', 'AFTER', _done(action, data))

    action = {'action': 'CLUSTER_SCALE_IN', 'inputs': {'count': 2}}
    data = engine.check('scale-in', 'BEFORE', action)
    engine.delete(data['deletion']['candidates'])
    engine.check('scale-in', 'AFTER', _done(action, data))

    _rebalance(engine)
    _other_actions(engine)
    engine.bind('detach')
    return engine


def _rebalance(engine: Engine) -> None:
    """Plan the rebalance of a cluster that has grown while a zone was down."""
    zones = ('az1', 'az1', 'az1', 'az2', 'az2', 'az2')
    other = Engine()
    other.cluster |= {'desired_capacity': 6, 'nodes': []}
    for number, zone in enumerate(zones, start=1):
        other.add(number, zone)
    engine.exchanged['rebalance'] = other.rebalance(other.policies[:2])


def _other_actions(engine: Engine) -> None:
    """Create, add and delete nodes of a cluster with the same policies."""
    other = Engine()
    other.bind('attach')
    asked = other.exchanged.copy()

    node = other.unplaced(4)
    planned = {**node, 'status': 'INIT', 'physical_id': None, 'created_at': None}
    action: Json = {'action': 'NODE_CREATE', 'inputs': {}}
    data = other.check('node-create', 'BEFORE', {**action, 'node': planned})
    node['data'] = other.exchanged['node-create-before'][1]['nodes']['n4']['data']
    other.nodes.append(node)
    other.check('node-create', 'AFTER', _done({**action, 'node': node}, data))

    other.add(5, 'az2')
    added = _done({'action': 'CLUSTER_ADD_NODES', 'inputs': {}}, {'creation': {'nodes': ['n5']}})
    other.check('add-nodes', 'AFTER', added)

    other.check(
        'node-delete', 'BEFORE', {'action': 'NODE_DELETE', 'inputs': {}, 'node': other.nodes[-1]}
    )
    other.delete(['n5'])
    other.check(
        'del-nodes', 'BEFORE', {'action': 'CLUSTER_DEL_NODES', 'inputs': {'candidates': ['n4']}}
    )
    engine.exchanged |= {name: one for name, one in other.exchanged.items() if name not in asked}


def _grow(engine: Engine, name: str, action: Json, explain: str = 'none') -> None:
    """Run an action that creates nodes."""
    data = engine.check(name, 'BEFORE', action, explain)
    data['creation']['nodes'] = engine.create(data)
    engine.check(name, 'AFTER', _done(action, data))


def _done(action: Json, data: Json) -> Json:
    """Return an action after the engine has carried it out."""
    return {**action, 'inputs': {**action['inputs'], 'action_result': 'OK'}, 'data': data}


def compact(value: Any, indent: int = 0, taken: int = 0) -> str:
    """Return JSON with as many values on a line as fit.

    :param taken: the number of characters before and after the value in its line.
    """
    line = json.dumps(value)
    if len(line) + indent + taken <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    begin, end = '[]' if isinstance(value, list) else '{}'
    margin = '\n' + ' ' * (indent + 2)
    return f'{begin}{margin}{_joined(_parts(value, indent + 2), margin)}\n{" " * indent}{end}'


def _parts(value: Any, indent: int) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a list or a map, and whether a part may share its line."""
    keyed = value.items() if isinstance(value, dict) else [(None, one) for one in value]
    for key, one in keyed:
        name = '' if key is None else f'{json.dumps(key)}: '
        yield name + compact(one, indent, len(name) + 1), not (one and isinstance(one, dict | list))


def _joined(parts: Iterable[tuple[str, bool]], margin: str) -> str:
    """Join parts by commas; those that may share a line do so while it has room."""
    text, room = '', 0
    for part, may_share in parts:
        shares = may_share and len(part) + 2 <= room
        text += (', ' if shares else f',{margin}') + part if text else part
        room = room - len(part) - 2 if shares else may_share * (WIDTH - len(margin) - len(part))
    return text


def main(folder: Path) -> None:
    """Write all requests and replies."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob('*.json'):
        old.unlink()
    for name, exchange in life().exchanged.items():
        for part, message in zip(('request', 'reply'), exchange, strict=True):
            (folder / f'{name}.{part}.json').write_text(compact(message) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
