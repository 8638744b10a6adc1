"""The choice by a worker: requests that the policies of this package decide in process."""

import datetime

import msgspec
import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import ActionPatch, CheckReply, Credentials, Node
from placement_worker.engines.heat.plans import Member
from placement_worker.engines.heat.worker_choice import Group, WorkerChooser
from placement_worker.errors import Rejected, WorkerFailed
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

NOW = datetime.datetime(2026, 11, 22, 20, tzinfo=datetime.UTC)
CLOUD = Inventory.parse({'zones': {'az1': True, 'az2': True, 'az3': True}}, 'test')
PLACEMENT = {
    'zones': [{'name': f'az{i}', 'weight': 100} for i in (1, 2, 3)],
    'deletion': {'criteria': 'OLDEST_FIRST'},
}


class Worker:
    def __init__(self):
        self.requests, self.stored = [], []
        self._caller = InProcessCaller(CLOUD, Registry.installed(), now=lambda: NOW)

    def check(self, request):
        self.requests.append(request)
        return self._caller.policy_check(request)


@pytest.fixture
def worker():
    return Worker()


def chooser(worker, **placement):
    """Return a chooser for the group with the data that the worker has stored last."""
    data = worker.stored[-1] if worker.stored else {}
    group = Group(
        'id', 'stack/group', 'user', 'demo', {**PLACEMENT, **placement}, Credentials('trust'), data
    )
    return WorkerChooser(worker.check, group, worker.stored.append)


def member(name, zone, age_s=100, **more):
    return Member(name, zone, created_at=NOW - datetime.timedelta(seconds=age_s), **more)


def failed(name, zone, reason, age_s=10):
    when = NOW - datetime.timedelta(seconds=age_s)
    return Member(
        name, zone, failed=True, reason=reason, needs_zone=True, created_at=when, updated_at=when
    )


@pytest.mark.parametrize(
    ('members', 'count', 'zones'),
    [
        ([], 3, ['az1', 'az2', 'az3']),
        ([member('a', 'az1'), member('b', 'az3')], 1, ['az2']),
        ([member('a', 'az1'), failed('b', 'az2', 'lost'), member('c', 'az3')], 1, ['az2']),
    ],
    ids=['new', 'emptiest', 'created again'],
)
def test_new_member_goes_to_the_emptiest_zone(worker, members, count, zones):
    """Existing members count, except those that Heat replaces; the worker looks up none of them."""
    assert sorted(chooser(worker).zones(members, count)) == zones
    assert all(node.physical_id is None for node in worker.requests[0].cluster.nodes)


IN_AZ1 = {'data': {'placement': {'zone': 'az1'}}}


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        (
            Member('a', 'az1', created_at=NOW, updated_at=NOW),
            {'status': 'ACTIVE', 'created_at': NOW, **IN_AZ1},
        ),
        (
            Member('a', 'az1', True, 'full', needs_zone=True, created_at=NOW, updated_at=NOW),
            {'status': 'ERROR', 'status_reason': 'full', 'updated_at': NOW, **IN_AZ1},
        ),
        (Member('a', None, is_outdated=True), {'status': 'ACTIVE', 'tainted': True}),
    ],
    ids=['complete', 'created again', 'outdated without zone'],
)
def test_member_is_a_node_with_the_cause_of_its_failure(worker, given, expected):
    """A member to create again was never created: it takes no room, but its failure counts."""
    chooser(worker).zones([given], 1)

    (node,) = worker.requests[-1].cluster.nodes
    assert node == Node(id='a', name='a', index=0, **expected)


A, B = member('a', 'az1', 40), member('c', 'az1', 30)
FULL = 'ResourceInError: resources.a: No valid host was found.'


@pytest.mark.parametrize('is_removed', [True, False], ids=['removed', 'created again'])
def test_full_zone_is_avoided_after_its_failed_member_is_gone(worker, is_removed):
    """A zone stays full when its failed member is removed, or created again in another zone."""
    members = [failed('a', 'az2', FULL), member('b', 'az1')]
    if is_removed:
        assert chooser(worker).victims(members, 1) == ['a']
    else:
        assert chooser(worker).zones(members, 1) == ['az3']

    assert 'az2' not in chooser(worker).zones([member('b', 'az1'), member('c', 'az3')], 2)
    assert len(worker.stored) == 1


def test_members_to_place_know_the_failures_of_victims(worker):
    """The request for zones has the data that the reply about victims has changed."""
    asked = chooser(worker)

    asked.victims([failed('a', 'az2', FULL), member('b', 'az1')], 1)

    assert 'az2' not in asked.zones([member('b', 'az1')], 3)


@pytest.mark.parametrize(
    ('members', 'victims', 'criteria'),
    [
        ([A, member('b', 'az2', 50), B, member('d', 'az3', 99)], ['a'], 'OLDEST_FIRST'),
        ([member(name, 'az1') for name in 'zam'], ['z', 'a'], 'OLDEST_FIRST'),
        ([A, B, member('old', 'az2', 1, is_outdated=True)], ['old'], 'OLDEST_FIRST'),
        ([failed('broken', 'az2', 'lost'), A, B], ['broken'], 'OLDEST_FIRST'),
        ([A, B], ['c'], 'YOUNGEST_FIRST'),
    ],
    ids=['oldest of the fullest zone', 'order of Heat', 'outdated', 'failed', 'criteria'],
)  # fmt: skip
def test_victims_are_failed_and_outdated_members_and_then_those_of_the_criteria(
    worker, members, victims, criteria
):
    """Heat knows the second of a creation only, so its order breaks ties."""
    asked = chooser(worker, deletion={'criteria': criteria})

    assert asked.victims(members, len(victims)) == victims


def test_request_names_group_owner_and_trust(worker):
    """The worker acts for the owner of the stack; the id of an action seeds random choices."""
    chooser(worker).zones([], 1)
    chooser(worker).victims([member('a', 'az1')], 1)

    request, other = worker.requests
    assert request.action.id != other.action.id
    assert (request.action.action, request.action.inputs) == ('CLUSTER_SCALE_OUT', {'count': 1})
    assert (other.action.action, other.action.inputs) == ('CLUSTER_SCALE_IN', {'count': 1})
    assert (request.cluster.id, request.cluster.name) == ('id', 'stack/group')
    assert (request.cluster.user, request.cluster.project) == ('user', 'demo')
    assert request.credentials.trust_id == 'trust'


def test_unknown_zones_are_refused_with_the_reason_of_the_policy(worker):
    """A policy that cannot decide fails the change with its reason."""
    asked = chooser(worker, zones=[{'name': 'az9', 'weight': 100}])

    with pytest.raises(Rejected, match='No availability zone found available'):
        asked.zones([], 1)


@pytest.mark.parametrize('data', [{}, {'placement': {}}, {'deletion': {'candidates': []}}])
def test_reply_without_the_expected_number_is_refused(worker, data):
    """A reply that does not decide about each member changes nothing."""

    def check(request):
        decided = {'status': 'OK', 'reason': '', **data}
        return CheckReply(action=ActionPatch('id', decided), cluster=None, nodes={}, decisions=[])

    incomplete = WorkerChooser(check, chooser(worker)._group, None)

    for choose in (incomplete.zones, incomplete.victims):
        with pytest.raises(WorkerFailed, match='expected 1'):
            choose([A], 1)


def test_warnings_of_the_worker_are_logged(worker, caplog):
    """An operator of Heat sees the warnings of a decision."""

    def check(request):
        reply = worker.check(request)
        return msgspec.structs.replace(reply, warnings=['Zone az9 is unknown'])

    WorkerChooser(check, chooser(worker)._group, None).zones([], 1)

    assert 'Group stack/group: Zone az9 is unknown' in caplog.text
