"""Operations on a cluster with two load-balancing policies, for tests that disturb them."""

import contextlib
import itertools
from copy import copy
from functools import cache, partial

import pytest

from placement_worker.cloud.ports import ApiError
from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import KINDS, Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import Killed, created, ids_of, recreated

# The lb_status_timeout of all policies.
TIMEOUT_S = 60


class TwoPolicies:
    """A cluster of two nodes behind the ports 80 (policy a) and 443 (policy b).

    The object does what an engine does: it stores the data of each reply.

    :ivar foreign: the member of another client in the pool of policy b, if that pool is
        preexisting: name -> address.
    """

    def __init__(self, lab, numbers=(1, 2), *, preexisting=False):
        self.lab = lab
        self.cluster_data = {}
        self.members = [connected(number) for number in numbers]
        self.policies = {name: self._policy(name, port) for name, port in (('a', 80), ('b', 443))}
        self.foreign = {}
        if preexisting:
            self.foreign = {'foreign': '10.0.0.100'}
            lb, pool = lab.foreign('10.0.0.100', port=443)
            properties = self.policies['b']['spec']['properties']
            properties['loadbalancer'] = lb
            properties['pool'] = {**properties['pool'], 'id': pool}
        for name in self.policies:
            assert self.attach(name)['status'] == 'OK'

    def _policy(self, name, port):
        vip = {'subnet': 'private-subnet', 'protocol_port': port}
        policy = load_balancing_policy(
            pool={'protocol_port': port}, vip=vip, lb_status_timeout=TIMEOUT_S, health_monitor={}
        )
        return {**policy, 'id': name, 'name': name}

    def attach(self, name):
        return self.stored(self.lab.attach(self.binding(name)))

    def detach(self, name):
        return self.stored(self.lab.detach(self.binding(name)))

    def check(self, action, **more):
        return self.stored(self.lab.check(self.checked(action, **more)))

    def after(self, action, **more):
        return self.check(action, target='AFTER', **more)

    def binding(self, name):
        return bind(self.policies[name], self.members, data=self.cluster_data)

    def checked(self, action, **more):
        policies = [self.policies[name] for name in self.attached()]
        asked = request(action, policies, self.members, **more)
        asked['cluster']['data'] = self.cluster_data
        return asked

    def stored(self, reply):
        """Store the data of a reply, and return it."""
        self.members = patched(self.members, reply)
        if reply.get('status') == 'OK':
            binding = reply['policy']
            self.policies[binding['id']] = {**self.policies[binding['id']], 'data': binding['data']}
            if reply['cluster'] is not None:
                self.cluster_data = reply['cluster']['data']
        return reply

    def attached(self):
        return [name for name, policy in self.policies.items() if policy['data']]

    def lose(self, name, node_id):
        """Delete the member of a node in the pool of a policy, as another client does."""
        port = {'a': 80, 'b': 443}[name]
        pool = ids_of(self.policies[name])['pool']
        self.lab.octavia(None).delete_member(pool, self.member_ids()[port, node_id])
        self.lab.clock.sleep(5)

    def member_ids(self):
        """Return the members of both pools: port and node name -> member id."""
        members = self.lab.settled()['member']
        return {(member['protocol_port'], member['name']): member['id'] for member in members}

    def pools(self):
        """Return the members of the pools: port -> node name -> address."""
        pools = {80: {}, 443: {}}
        for member in self.lab.settled()['member']:
            pool = pools[member['protocol_port']]
            assert member['name'] not in pool, 'a node has two members'
            pool[member['name']] = member['address']
        return pools

    def is_right(self):
        """Return whether the pools of attached policies have all nodes, and the data of the nodes
        their members, and nothing else is there.
        """
        expected = {
            one['id']: one['details']['addresses']['private'][0]['addr'] for one in self.members
        }
        objects, ids = self.lab.settled(), self.member_ids()
        balancers = {one['id'] for one in objects['loadbalancer']}
        recorded = {one['id']: {} for one in self.members}
        pools = {80: {}, 443: self.foreign}
        if 'a' in self.attached():
            pools[80] = expected
            recorded = {node_id: {'lb_member': ids.get((80, node_id))} for node_id in recorded}
        if 'b' in self.attached():
            pools[443] = expected | self.foreign
            for node_id, data in recorded.items():
                data['lb_members'] = {'b': ids.get((443, node_id))}
        return (
            balancers >= {ids_of(self.policies[name])['loadbalancer'] for name in self.attached()}
            and self.pools() == pools
            and data_of(self.members) == recorded
            and {len(objects[kind]) for kind in KINDS} == {self._expected_load_balancers()}
        )

    def _expected_load_balancers(self):
        return len({*self.attached(), 'b'}) if self.foreign else len(self.attached())


def leaving(*node_ids):
    """Return the parts of a scenario in which earlier policies chose these victims."""
    deletion = {'count': len(node_ids), 'candidates': list(node_ids)}
    return {'leaving': node_ids, 'data': {'deletion': deletion}}


REPLACED = {'inputs': {'candidates': {'n1': 'n5', 'n2': 'n6'}}}
RECOVERED = {'after': 'NODE_RECOVER', 'node': 'n1'}
GROWN = {'new': {5: 5, 6: 6}, 'data': created('n5', 'n6')}
SHRUNK = {'inputs': {'adjustment_type': 'EXACT_CAPACITY', 'number': 2}}
# detached: a policy, in advance; lost_in: the policy in whose pool n1 has lost its member; new: new
# nodes -> numbers of their addresses; gone: nodes that were deleted, but are still in the pools;
# recreated: the number of the address of n1's new server; attach, detach: a policy; before, after:
# an action, with its node, data and inputs; leaving: the nodes that it deletes.
SCENARIOS = {
    'attach_first': {'detached': 'a', 'attach': 'a'},
    'attach_second': {'detached': 'b', 'attach': 'b'},
    'attach_again': {'lost_in': 'a', 'attach': 'a'},
    'detach_first': {'detach': 'a'},
    'detach_second': {'detach': 'b'},
    'detach_last': {'detached': 'a', 'detach': 'b'},
    'scale_out': {**GROWN, 'after': 'CLUSTER_SCALE_OUT'},
    'add_nodes': {'new': {5: 5}, 'after': 'CLUSTER_ADD_NODES', 'data': created('n5')},
    'grow': {**GROWN, 'after': 'CLUSTER_RESIZE'},
    'create_node': {'new': {5: 5}, 'after': 'NODE_CREATE', 'node': 'n5'},
    'scale_in': {'before': 'CLUSTER_SCALE_IN', **leaving('n1', 'n2')},
    'delete_nodes': {
        'before': 'CLUSTER_DEL_NODES', 'inputs': {'candidates': ['n3']}, 'leaving': ('n3',),
    },
    'shrink': {'before': 'CLUSTER_RESIZE', **leaving('n1', 'n4'), **SHRUNK},
    'delete_node': {'before': 'NODE_DELETE', 'node': 'n2', 'leaving': ('n2',)},
    'replace_before': {'before': 'CLUSTER_REPLACE_NODES', **REPLACED, 'leaving': ('n1', 'n2')},
    'replace_after': {'new': {5: 5, 6: 6}, 'after': 'CLUSTER_REPLACE_NODES', **REPLACED},
    'replace_at_reused_addresses': {
        'gone': 2, 'new': {5: 1, 6: 2}, 'after': 'CLUSTER_REPLACE_NODES', **REPLACED,
    },
    'recover_recreated': {'recreated': 9, **RECOVERED},
    'recover_recreated_at_its_address': {'recreated': 1, **RECOVERED},
    'recover_recreated_half': {'lost_in': 'b', 'recreated': 9, **RECOVERED},
    'recover_untouched': RECOVERED,
    'recover_lost_in_first': {'lost_in': 'a', **RECOVERED},
    'recover_lost_in_second': {'lost_in': 'b', **RECOVERED},
}  # fmt: skip


class Scenario:
    """An operation on a cluster of four nodes with two policies.

    :ivar send: handles a copy of one request.
    :ivar left_s: the seconds until the request expires, if it does.
    """

    def __init__(self, lab, name, *, preexisting, left_s=None):
        self.left_s = left_s
        self.lab = lab
        self.two = two = TwoPolicies(lab, range(1, 5), preexisting=preexisting)
        self.parts = parts = SCENARIOS[name]
        if 'detached' in parts:
            two.detach(parts['detached'])
        if 'lost_in' in parts:
            two.lose(parts['lost_in'], 'n1')
        del two.members[: parts.get('gone', 0)]
        for number, address in parts.get('new', {}).items():
            two.members.append({**connected(number), 'details': connected(address)['details']})
        if 'recreated' in parts:
            two.members[0] = recreated(two.members[0], parts['recreated'])
        self.send = self.requested()
        lab.calls.clear()

    def copied(self):
        scenario, two = copy(self), copy(self.two)
        scenario.two, scenario.lab = two, self.lab.copied()
        two.lab, two.members, two.policies = scenario.lab, [*two.members], {**two.policies}
        scenario.send = scenario.requested()
        return scenario

    def requested(self):
        """Return a function that handles a copy of one request about the present cluster."""
        two, parts = self.two, self.parts
        expiry = {'expires_at': self.lab.clock.after(self.left_s)} if self.left_s else {}
        for method in ('attach', 'detach'):
            if method in parts:
                asked = {**two.binding(parts[method]), **expiry}
                return partial(getattr(self.lab, method), asked)
        more = {key: parts[key] for key in ('data', 'inputs') if key in parts}
        nodes = {one['id']: one for one in two.members}
        phase = 'before' if 'before' in parts else 'after'
        node = nodes.get(parts.get('node'))
        asked = two.checked(parts[phase], target=phase.upper(), node=node, **more)
        return partial(self.lab.check, {**asked, **expiry})

    def is_right(self, reply):
        """Check the state after a reply that the engine stores."""
        before = self.two.members, self.two.policies, self.two.cluster_data
        self.two.stored(reply)
        gone = self.parts.get('leaving', ())
        data = {one['id']: one['data'] for one in self.two.members}
        self.two.members = [one for one in self.two.members if one['id'] not in gone]
        assert all(data[node_id] == {} for node_id in gone), data
        assert self.two.is_right(), (self.two.pools(), data)
        self.two.members, self.two.policies, self.two.cluster_data = before


def is_ok(reply):
    return (reply.get('status') or reply['action']['data']['status']) == 'OK'


def reason_of(reply):
    return reply['reason'] if 'reason' in reply else reply['action']['data']['reason']


# The providers of the pools: with or without nested creation and batches of members; the pool of
# policy b is its own, or preexisting.
PROVIDERS = {
    'full': (True, False),
    'plain': (False, False),
    'full-preexisting': (True, True),
    'plain-preexisting': (False, True),
}


def prepared(name, provider, **more):
    """Return a scenario of its own; the first one is copied, which is faster than attachments."""
    return _prepared(name, provider, **more).copied()


@cache
def _prepared(name, provider, **more):
    is_full, preexisting = PROVIDERS[provider]
    lab = Lab(batch_members=is_full, nested_creation=is_full)
    return Scenario(lab, name, preexisting=preexisting, **more)


@cache
def calls_of(name, provider):
    """Return the calls of an undisturbed run, and check its result."""
    scenario = prepared(name, provider)
    reply = scenario.send()
    assert is_ok(reply), reply
    scenario.is_right(reply)
    return list(scenario.lab.calls)


def undisturbed(call):
    return call.act()


def killing(step, *, after):
    """Return an `around` that kills the worker at a call, before or after its effect."""
    seen = itertools.count()

    def around(call):
        if next(seen) != step:
            return call.act()
        if after:
            with contextlib.suppress(ApiError):
                call.act()
        raise Killed

    return around


def kill(scenario, step, *, after=True):
    """Send the request to a worker that is killed at a call."""
    scenario.lab.around = killing(step, after=after)
    with pytest.raises(Killed):
        scenario.send()
    scenario.lab.around = undisturbed


@contextlib.contextmanager
def disturbed_at(step, calls, *details):
    """Name the disturbed call of an operation in failures of the block."""
    try:
        yield
    except AssertionError as exc:
        exc.add_note(f'disturbed at call {step}, {calls[step]}: {details}')
        raise
