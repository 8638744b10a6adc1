"""Two load-balancing policies on one cluster: each decides by its own pool."""

import pytest

from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import KINDS, Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import (
    Refusal,
    created,
    decision,
    ids_of,
    recreated,
    status,
)

SCALE_OUT, RECOVER = 'CLUSTER_SCALE_OUT', 'NODE_RECOVER'


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
        policy = load_balancing_policy(pool={'protocol_port': port}, vip=vip)
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
            self.pools() == pools
            and data_of(self.members) == recorded
            and {len(objects[kind]) for kind in KINDS[:3]} == {self._expected_load_balancers()}
        )

    def _expected_load_balancers(self):
        return len({*self.attached(), 'b'}) if self.foreign else len(self.attached())


@pytest.fixture(params=[True, False], ids=['batch', 'single'])
def two(request):
    return TwoPolicies(Lab(batch_members=request.param))


def test_each_policy_records_its_members_under_its_own_key(two):
    """The first policy writes `lb_member`, the second its entry of `lb_members`."""
    assert two.is_right()


def test_first_policy_that_fails_leaves_the_recovery_to_a_repetition(two):
    """`recovery` goes after the last load-balancing policy, so a failure of the first keeps it."""
    two.members[0] = recreated(two.members[0])
    two.lab.around = Refusal(0)

    two.after(RECOVER, node=two.members[0])

    assert two.members[0]['data']['recovery'] == 'RECREATE'
    two.lab.around = lambda call: call.act()
    assert status(two.after(RECOVER, node=two.members[0]))[0] == 'OK'
    assert two.is_right()


@pytest.mark.parametrize('name', ['a', 'b'])
def test_recovery_adds_a_node_that_is_missing_in_one_pool(two, name):
    """A recovered node that only one pool has joins the other one."""
    two.lose(name, 'n1')

    reply = two.after(RECOVER, node=two.members[0])

    outcomes = {one['policy_id']: one['outcome'] for one in reply['decisions']}
    assert outcomes == {'a': 'SKIPPED', 'b': 'SKIPPED', name: 'APPLIED'}
    assert two.is_right()


@pytest.mark.parametrize('order', ['ab', 'ba'])
def test_detachment_removes_the_records_of_one_policy_alone(two, order):
    """Detaching either policy keeps what the other one recorded; afterwards nothing is left."""
    first, second = order
    kept = 80 if second == 'a' else 443
    recorded = {one['id']: one['data'] for one in two.members}

    assert two.detach(first)['status'] == 'OK'

    expected = {'lb_member'} if second == 'a' else {'lb_members'}
    assert data_of(two.members) == {
        node_id: {key: data[key] for key in expected} for node_id, data in recorded.items()
    }
    assert two.pools()[kept] == {'n1': '10.0.0.1', 'n2': '10.0.0.2'}
    assert two.detach(second)['status'] == 'OK'
    assert data_of(two.members) == {'n1': {}, 'n2': {}}
    assert two.lab.is_empty()


@pytest.mark.parametrize('count', [1, 8])
def test_updates_per_policy_do_not_depend_on_the_number_of_nodes(count):
    """Each policy changes its pool in one update, for any number of nodes."""
    two = TwoPolicies(Lab(), range(1, 10))
    ids = [f'n{number}' for number in range(11, 11 + count)]
    two.members += [connected(number) for number in range(11, 11 + count)]

    added = two.after(SCALE_OUT, data=created(*ids))
    removed = two.check('CLUSTER_SCALE_IN', data={'deletion': {'candidates': ids}})

    for reply in (added, removed):
        assert [one['details']['updates'] for one in reply['decisions']] == [1, 1]


def test_data_that_earlier_versions_overwrote_are_repaired(two):
    """If both policies wrote `lb_member`, each finds its members by tags, and keeps to its key."""
    ids = two.member_ids()
    two.members = [{**one, 'data': {'lb_member': ids[443, one['id']]}} for one in two.members]

    reply = two.check('CLUSTER_DEL_NODES', inputs={'candidates': ['n1', 'n2']})

    assert [one['details']['removed'] for one in reply['decisions']] == [['n1', 'n2']] * 2
    assert data_of(two.members) == {'n1': {}, 'n2': {}}


def test_policy_with_the_pool_of_another_one_leaves_its_members_alone(lab):
    """A policy attached to the pool of another one neither adopts nor removes its members."""
    own, members = lab.attached([connected(1)])
    ids = ids_of(own)
    existing = load_balancing_policy(loadbalancer=ids['loadbalancer'], pool={'id': ids['pool']})
    existing['id'] = 'existing'

    attached = lab.attach(bind(existing, members))
    existing['data'] = attached['policy']['data']
    detached = lab.detach(bind(existing, members, data={'loadbalancers': {own['id']: {}}}))

    assert (attached['status'], attached['nodes']) == ('OK', {})
    assert 'Node n1 gets no member' in attached['warnings'][0]
    assert (detached['status'], detached['nodes']) == ('OK', {})
    assert lab.addresses() == ['10.0.0.1']


def test_recovery_of_an_untouched_node_ends_after_the_last_policy(two):
    """Neither policy changes a node that was not created again; `recovery` is dropped."""
    data = two.members[0]['data']
    two.members[0] = {**two.members[0], 'data': {**data, 'recovery': 'REBOOT'}}

    reply = two.after(RECOVER, node=two.members[0])

    assert [one['outcome'] for one in reply['decisions']] == ['SKIPPED', 'SKIPPED']
    assert two.members[0]['data'] == data
    assert decision(reply)['details']['api_calls'] == 1
