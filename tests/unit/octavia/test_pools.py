"""The members of a pool: whose they are, and how they are added and removed."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import RequestExpired
from placement_worker.octavia.pools import NODE_TAG, Additions, Member, Members, Pool, key_of
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import TAGS, updater

WANTED = [Member(f'n{number}', f'n{number}', f'10.0.0.{number}', 80) for number in (1, 2)]
READ_ONLY = {'id', 'provisioning_status', 'operating_status'}


@pytest.fixture
def lab():
    return Lab()


def pool_of(lab, *foreign, **options):
    lb_id, pool_id = lab.foreign(*foreign)
    nodes = frozenset({'n1', 'n2'})
    return Pool(updater(lab, **options), lb_id, pool_id, TAGS, nodes, 'sub1')


def listed(*members):
    return Members(members, TAGS, frozenset({'n1', 'n2'}))


def member(member_id, address, node_id=None, status='ACTIVE'):
    tags = [*TAGS, NODE_TAG + node_id] if node_id else []
    return {
        'id': member_id,
        'address': address,
        'protocol_port': 80,
        'provisioning_status': status,
        'tags': tags,
    }


def wanted(count):
    """Return members n1 at 10.0.0.1 and so on."""
    numbers = range(1, count + 1)
    return [Member(f'n{number}', f'n{number}', f'10.0.0.{number}', 80) for number in numbers]


def test_by_node_ignores_members_without_all_tags():
    """Only members with the tags of the policy belong to nodes."""
    foreign = {**member('m3', '10.0.0.3'), 'tags': [NODE_TAG + 'n1']}

    assert listed(member('m1', '10.0.0.1', 'n1'), foreign).by_node == {'n1': {'m1'}}


def test_left_behind_returns_members_of_deleted_nodes():
    """Members of the policy whose nodes are not in the cluster are left behind."""
    members = listed(
        member('m1', '10.0.0.1', 'n1'), member('m9', '10.0.0.9', 'n9'), member('x', '10.0.0.8')
    )

    assert members.left_behind == {('10.0.0.9', 80): 'm9'}


def test_of_node_returns_tagged_and_stored_members_that_are_present():
    """A node may have its stored member, tagged ones, or both."""
    members = listed(member('m1', '10.0.0.1', 'n1'), member('m2', '10.0.0.2'))

    assert members.of_node('n1', 'm2') == {'m1', 'm2'}
    assert members.of_node('n1', 'gone') == {'m1'}
    assert members.of_node('n2', None) == set()


def test_compare_sorts_wanted_members_by_owner_and_status():
    """Wanted members are adopted, foreign or missing; one that is not ACTIVE is missing."""
    members = listed(
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'ERROR'),
        member('x', '10.0.0.3'),
        member('m5', '10.0.0.5', 'n9'),
    )

    present, missing = members.compare(wanted(5))

    assert (present.adopted, present.foreign) == ({'n1': 'm1', 'n5': 'm5'}, {'n3': 'x'})
    assert [one.node_id for one in missing] == ['n2', 'n4']


def test_note_added_sorts_members_by_owner_status_and_failure():
    """After an attempt to add, members are new, foreign, about to be ACTIVE, or failed."""
    members = listed(
        member('m1', '10.0.0.1', 'n1'),
        member('m2', '10.0.0.2', 'n2', 'PENDING_UPDATE'),
        member('x', '10.0.0.3'),
        member('m4', '10.0.0.4', 'n4', 'ERROR'),
    )
    result = Additions()

    members.note_added(result, wanted(6), {('10.0.0.5', 80): ApiError('busy', 503)})

    assert (result.added, result.foreign) == ({'n1': 'm1', 'n2': 'm2'}, {'n3': 'x'})
    assert result.failed == {
        'n4': 'the member is in ERROR',
        'n5': 'Octavia responded with status 503: busy',
        'n6': 'Octavia does not show the member',
    }
    assert not result.expired


def test_note_added_after_expiry_reports_it():
    """The outcome of an expired request says that it expired."""
    result = Additions()

    listed().note_added(result, wanted(1), {('10.0.0.1', 80): RequestExpired('Request expired')})

    assert result.expired


@pytest.mark.parametrize(
    ('address', 'same'),
    [('FD00::0:1', 'fd00::1'), ('10.0.0.1', '10.0.0.1'), ('some.host', 'some.host')],
)
def test_key_is_the_same_for_all_notations_of_an_address(address, same):
    """Two notations of an IP address have one key; another string stays as it is."""
    assert Member('n1', 'n1', address, 80).key == (same, 80)
    assert key_of({'address': address, 'protocol_port': 81}) == (same, 81)


@pytest.mark.parametrize(('batch_members', 'updates'), [(True, 1), (False, 2)])
def test_add_takes_the_planned_updates_and_marks_members(lab, batch_members, updates):
    """A batch adds all members in one update; each carries the tags of policy and node."""
    pool = pool_of(lab, batch_members=batch_members)

    result = pool.add(WANTED, listed())

    assert list(result.added) == ['n1', 'n2']
    assert pool.updater.statistics.updates == pool.updates_to_add(2) == updates
    first = pool.members().by_key['10.0.0.1', 80]
    assert first['tags'] == [*TAGS, 'placement-worker:node=n1']
    assert (first['subnet_id'], first['weight'], first['name']) == ('sub1', 1, 'n1')


def test_add_with_refused_batch_adds_one_by_one(lab):
    """If Octavia refuses the batch, members are added one by one."""

    def refuse_batch(call):
        if call.name == 'update_members':
            raise ApiError('not supported', 501)
        return call.act()

    pool = pool_of(lab)
    lab.around = refuse_batch

    assert list(pool.add(WANTED, listed()).added) == ['n1', 'n2']


@pytest.mark.parametrize(('alone', 'updates'), [(True, 1), (False, 2)])
def test_remove_together_requires_a_pool_without_other_clients(lab, alone, updates):
    """Members are removed in one update only if no other client changes the pool."""
    pool = pool_of(lab)
    pool.add(WANTED, listed())
    before = pool.updater.statistics.updates

    assert pool.remove(pool.members().by_id, alone=alone) == {}

    assert pool.members().remaining().listed == []
    assert (
        pool.updater.statistics.updates - before
        == pool.updates_to_remove(2, alone=alone)
        == updates
    )


@pytest.mark.parametrize('count', [1, 2])
@pytest.mark.parametrize('batch_members', [True, False])
def test_change_without_response_is_not_sent_again(lab, batch_members, count):
    """A change that took effect is found by the members: present ones, or missing ones."""
    lab.pending_s = 0
    pool = pool_of(lab, '10.0.0.9', batch_members=batch_members)

    def lose_the_response(call):
        result = call.act()
        if call.writes:
            raise ApiError('The connection broke')
        return result

    lab.around = lose_the_response
    lab.calls.clear()
    assert len(pool.add(WANTED[:count], listed()).added) == count
    leaving = [one['id'] for one in pool.members().listed if one['name'] != 'foreign']
    assert pool.remove(leaving, alone=True) == {}

    assert lab.addresses() == ['10.0.0.9']
    additions = 1 if batch_members else count
    removals = 1 if batch_members and count > 1 else count
    assert sum(call.writes for call in lab.calls) == additions + removals


@pytest.mark.parametrize('batch_members', [True, False])
def test_change_without_effect_is_sent_again(lab, batch_members):
    """A request that got lost is repeated, for additions and removals."""
    lab.pending_s = 0
    pool = pool_of(lab, '10.0.0.9', batch_members=batch_members)
    sent = []

    def lose_the_first_request(call):
        if call.writes and call.arguments not in sent:
            sent.append(call.arguments)
            raise ApiError('The connection broke')
        return call.act()

    lab.around = lose_the_first_request
    assert len(pool.add(WANTED, listed()).added) == 2
    assert lab.addresses() == ['10.0.0.1', '10.0.0.2', '10.0.0.9']
    leaving = [one['id'] for one in pool.members().listed if one['name'] != 'foreign']
    assert pool.remove(leaving, alone=True) == {}
    assert lab.addresses() == ['10.0.0.9']


def test_remove_of_a_member_that_is_gone_succeeds(lab):
    """A member that is already gone counts as removed."""
    assert pool_of(lab).remove(['m1'], alone=False) == {}


def test_remove_in_a_batch_keeps_the_attributes_of_other_members(lab):
    """A batch names all attributes of the members that stay, and nothing else."""
    pool = pool_of(lab, '10.0.0.1', '10.0.0.2', '10.0.0.3')
    *leaving, last = pool.members().listed

    pool.remove([one['id'] for one in leaving], alone=True)

    [call] = [call for call in lab.calls if call.name == 'update_members']
    [body] = call.arguments[1]
    assert body == {key: last[key] for key in last.keys() - READ_ONLY}
    assert body['weight'] == 7


def test_members_of_a_pool_that_is_gone_are_none(lab):
    """A pool that is gone has nothing to clear; a refusal is an error."""
    pool = pool_of(lab)
    pool.pool_id = 'gone'

    assert pool.members() is None
    pool.clear()

    def refuse(_):
        raise ApiError('no', 403)

    lab.around = refuse
    with pytest.raises(ApiError):
        pool.members()


def test_clear_removes_only_members_of_the_policy(lab):
    """Foreign members stay when the members of the policy are removed."""
    pool = pool_of(lab, '10.0.0.100')
    pool.add(WANTED, pool.members())

    pool.clear()

    assert lab.addresses() == ['10.0.0.100']
