"""Tests for adding and removing the members of a pool."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.octavia.member_ownership import Member, Ownership
from placement_worker.octavia.pools import Pool
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import TAGS, updater

WANTED = [Member(f'n{number}', f'n{number}', f'10.0.0.{number}', 80) for number in (1, 2)]


@pytest.fixture
def lab():
    return Lab()


def pool_of(lab, **options):
    lb_id, pool_id = lab.foreign()
    ownership = Ownership(TAGS, frozenset({'n1', 'n2'}))
    return Pool(updater(lab, **options), lb_id, pool_id, 'sub1', ownership)


@pytest.mark.parametrize(('batch_members', 'updates'), [(True, 1), (False, 2)])
def test_add_takes_the_planned_updates(lab, batch_members, updates):
    """A batch adds all members in one update; without batches each takes one."""
    pool = pool_of(lab, batch_members=batch_members)

    result = pool.add(WANTED, [])

    assert list(result.added) == ['n1', 'n2']
    assert pool.updater.statistics.updates == pool.updates_to_add(2) == updates


def test_add_with_refused_batch_adds_one_by_one(lab):
    """If Octavia refuses the batch, members are added one by one."""

    def refuse_batch(call):
        if call.name == 'update_members':
            raise ApiError('not supported', 501)
        return call.act()

    pool = pool_of(lab)
    lab.around = refuse_batch

    assert list(pool.add(WANTED, []).added) == ['n1', 'n2']


@pytest.mark.parametrize(('alone', 'updates'), [(True, 1), (False, 2)])
def test_remove_together_requires_a_pool_without_other_clients(lab, alone, updates):
    """Members are removed in one update only if no other client changes the pool."""
    pool = pool_of(lab)
    pool.add(WANTED, [])
    before = pool.updater.statistics.updates

    assert pool.remove([one['id'] for one in pool.members()], alone=alone) == {}

    assert pool.members() == [] or pool.remaining() == []
    assert (
        pool.updater.statistics.updates - before
        == pool.updates_to_remove(2, alone=alone)
        == updates
    )


def test_clear_removes_only_members_of_the_policy(lab):
    """Foreign members stay when the members of the policy are removed."""
    lb_id, pool_id = lab.foreign('10.0.0.100')
    pool = Pool(updater(lab), lb_id, pool_id, 'sub1', Ownership(TAGS))
    pool.add(WANTED, pool.members())

    pool.clear()

    assert lab.addresses() == ['10.0.0.100']
