"""Operations of the load-balancing policy on a small cluster, for tests that disturb them."""

import functools

from placement_worker.cloud.ports import ApiError
from tests.factories import bind, connected, load_balancing_policy, request
from tests.simulated_octavia import KINDS, Lab, data_of, patched
from tests.unit.policies.load_balancing.building_blocks import (
    after,
    created,
    ids_of,
    member_ids,
    recreated,
    status,
)

# The lb_status_timeout of all operations.
TIMEOUT_S = 60


class Operation:
    """An operation on a small cluster, and checks of its result."""

    batch = True
    expires_at = None

    def __init__(self):
        self.lab = Lab(batch_members=self.batch)
        self.members = [connected(number) for number in range(1, 4)]
        self.prepare()
        self.lab.calls.clear()
        self.began = self.lab.clock()

    def prepare(self):
        self.policy = load_balancing_policy(lb_status_timeout=TIMEOUT_S, health_monitor={})

    def run(self):
        """Run the operation; return status, reason and reply."""

    def checked(self, asked):
        reply = self.lab.check(asked)
        return *status(reply), reply

    def bound(self, method):
        reply = method(bind(self.policy, self.members, expires_at=self.expires_at))
        return reply['status'], reply['reason'], reply

    def records(self):
        """Return the data of nodes that record their members: node name -> data."""
        return {name: {'lb_member': id_} for name, id_ in member_ids(self.lab).items()}

    def detach(self):
        """Detach the policy without the stored data."""
        return self.lab.detach(bind(self.policy, self.members))

    def is_right(self, reply):
        """Check the state after a success."""

    def is_clean(self, reply):
        """Check that a failure left nothing, or that the reply names what is left."""

    def is_right_though_it_vanished(self, ended, reason, reply):
        """Check the result after another client deleted all objects."""
        assert ended == 'ERROR'
        assert any(
            words in f'{reason} {reply}'
            for words in ('does not exist any more', 'not found', 'has no', 'was deleted')
        )
        assert self.lab.is_empty()


class Attach(Operation):
    def run(self):
        return self.bound(self.lab.attach)

    def is_right(self, reply):
        made = self.lab.settled()
        assert {len(made[kind]) for kind in KINDS} == {1}
        assert {one['provisioning_status'] for kind in made.values() for one in kind} == {'ACTIVE'}
        assert ids_of(reply['policy']) == {kind: made[kind][0]['id'] for kind in KINDS}
        assert data_of(patched(self.members, reply)) == self.records()
        assert self.lab.addresses() == ['10.0.0.1', '10.0.0.2', '10.0.0.3']

    def is_right_though_it_vanished(self, ended, reason, reply):
        """The objects may also vanish after the last lookup."""
        assert ended == 'OK'
        if not self.lab.is_empty():
            self.is_right(reply)

    def is_clean(self, reply):
        assert reply['policy']['data'] == {}
        assert reply['cluster'] is None
        assert reply['nodes'] == {}
        assert self.lab.is_empty()


class AttachPartByPart(Attach):
    """Attach the policy without nested creation and without batches."""

    batch = False

    def prepare(self):
        super().prepare()
        octavia = self.lab.octavia

        def part_by_part(region):
            simulator = octavia(region)
            around = simulator._around

            def refuse_nested(call):
                if call.name == 'create' and call.arguments[1].get('listeners'):
                    raise ApiError('not supported', 501)
                return around(call)

            simulator._around = refuse_nested
            return simulator

        self.lab.octavia = part_by_part


class AttachToExisting(Operation):
    """Attach the policy to an existing pool with a foreign member."""

    def prepare(self):
        existing = self.lab.existing('10.0.0.100')
        self.policy = load_balancing_policy(lb_status_timeout=TIMEOUT_S, **existing)

    def run(self):
        return self.bound(self.lab.attach)

    def is_right(self, reply):
        assert self.lab.addresses() == ['10.0.0.1', '10.0.0.100', '10.0.0.2', '10.0.0.3']
        made = self.records()
        del made['foreign']
        assert data_of(patched(self.members, reply)) == made

    def is_clean(self, reply):
        assert (reply['policy']['data'], reply['nodes']) == ({}, {})
        assert self.lab.addresses() == ['10.0.0.100']


class Attached(Operation):
    """The base of operations that begin with a load balancer of three members."""

    def prepare(self):
        self.policy, self.members = self.lab.attached(
            self.members, lb_status_timeout=TIMEOUT_S, health_monitor={}
        )


class Detach(Attached):
    def run(self):
        return self.bound(self.lab.detach)

    def is_right(self, reply):
        assert self.lab.is_empty()
        assert data_of(patched(self.members, reply)) == {'n1': {}, 'n2': {}, 'n3': {}}

    def is_right_though_it_vanished(self, ended, reason, reply):
        assert ended == 'OK'
        assert self.lab.is_empty()

    def is_clean(self, reply):
        assert reply['policy']['data'] == self.policy['data']


class DetachFromExisting(Detach):
    def prepare(self):
        existing = self.lab.existing('10.0.0.100')
        self.policy, self.members = self.lab.attached(
            self.members, lb_status_timeout=TIMEOUT_S, **existing
        )

    def is_right(self, reply):
        assert self.lab.addresses() == ['10.0.0.100']

    def is_clean(self, reply):
        super().is_clean(reply)
        assert '10.0.0.100' in self.lab.addresses()


class Remove(Attached):
    """Two of three nodes leave, in one update."""

    action = 'CLUSTER_SCALE_IN'

    def run(self):
        data = {'deletion': {'count': 2, 'candidates': ['n1', 'n2']}}
        return self.checked(
            request(self.action, [self.policy], self.members, data=data, expires_at=self.expires_at)
        )

    def is_right_though_it_vanished(self, ended, reason, reply):
        """A deleted pool has no members."""
        assert ended == 'OK'
        assert data_of(patched(self.members, reply)) == self.data_afterwards()

    def is_right(self, reply):
        assert self.lab.addresses() == ['10.0.0.3']
        assert data_of(patched(self.members, reply)) == self.data_afterwards()

    def data_afterwards(self):
        return {'n1': {}, 'n2': {}, 'n3': self.members[2]['data']}

    def is_clean(self, reply):
        """Nodes with a member have a warning; the others have no stored member."""
        details = reply['decisions'][0]['details']
        there = {f'n{address[-1]}' for address in self.lab.addresses()}
        assert set(details['removed']).isdisjoint(details['failed'])
        for node_id in ('n1', 'n2'):
            node = {one['id']: one for one in patched(self.members, reply)}[node_id]
            if node_id in details['failed']:
                assert node['status'] == 'WARNING'
                assert node['status_reason'] == 'Failed in removing node from lb pool.'
                assert node['data']['lb_member']
            else:
                assert (node_id in there, node['data']) == (False, {})
        assert 'n3' in there


class RemoveOneByOne(Remove):
    batch = False


class Add(Attached):
    def prepare(self):
        super().prepare()
        self.members = [*self.members, connected(4), connected(5)]

    def run(self):
        asked = after(
            'CLUSTER_SCALE_OUT', [self.policy], self.members, data=created('n4', 'n5'),
            expires_at=self.expires_at,
        )  # fmt: skip
        return self.checked(asked)

    def is_right(self, reply):
        made = self.records()
        assert sorted(made) == ['n1', 'n2', 'n3', 'n4', 'n5']
        assert data_of(patched(self.members, reply)) == made

    def is_clean(self, reply):
        """Nodes with a stored member are in the pool; failed nodes have a warning."""
        details = reply['decisions'][0]['details']
        made = member_ids(self.lab)
        for node in patched(self.members, reply)[3:]:
            if node['id'] in details['failed']:
                assert node['status'] == 'WARNING'
                assert node['status_reason'] == 'Failed in adding node into lb pool.'
            else:
                assert node['data'] == {'lb_member': made[node['id']]}
        assert {'n1', 'n2', 'n3'} <= set(made)


class AddOneByOne(Add):
    batch = False


class Replace(Attached):
    """Replace the member of a recreated node."""

    def prepare(self):
        super().prepare()
        self.members = [recreated(self.members[0]), *self.members[1:]]

    def run(self):
        asked = after(
            'NODE_RECOVER', [self.policy], self.members, node=self.members[0],
            expires_at=self.expires_at,
        )  # fmt: skip
        return self.checked(asked)

    def is_right(self, reply):
        assert self.lab.addresses() == ['10.0.0.2', '10.0.0.3', '10.0.0.9']
        assert data_of(patched(self.members, reply)) == self.records()

    def is_clean(self, reply):
        assert reply['nodes']['n1']['status'] == 'WARNING'
        assert 'recovery' not in reply['nodes']['n1']['data']


OPERATIONS = [
    Attach, AttachPartByPart, AttachToExisting, Detach, DetachFromExisting, Remove,
    RemoveOneByOne, Add, AddOneByOne, Replace,
]  # fmt: skip


@functools.cache
def calls_of(operation):
    """Return the number of calls of a successful run, and check its result."""
    one = operation()
    status, reason, reply = one.run()
    assert status == 'OK', reason
    one.is_right(reply)
    return len(one.lab.calls)
