"""Tests for the load balancer of a policy."""

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import LoadBalancerFailed, LoadBalancerGone
from placement_worker.octavia import load_balancers
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import LAYOUT, TAGS, updater


@pytest.fixture
def lab():
    return Lab()


def test_ensure_again_adopts_the_load_balancer(lab):
    """A second call returns the same parts and creates none."""
    first = load_balancers.ensure(updater(lab), LAYOUT)

    again = load_balancers.ensure(updater(lab), LAYOUT)

    assert (again.id, again.listener, again.pool) == (first.id, first.listener, first.pool)
    assert len(lab.settled()['loadbalancer']) == 1


def test_is_done_of_a_part_compares_tags_and_parent(lab):
    """A part of another load balancer, or with other tags, is not the one to create."""
    balancer = load_balancers.ensure(updater(lab), LAYOUT)

    def is_there(tags, parent):
        return load_balancers.CreatePart('pool', {}, tags, parent).is_done(updater(lab))

    assert is_there(TAGS, balancer.id)
    assert not is_there(TAGS, 'other')
    assert not is_there(['other'], balancer.id)


def test_confirm_after_replacement_raises_gone(lab):
    """A load balancer that is not the selected one any more is gone."""
    updating = updater(lab)
    balancer = load_balancers.ensure(updating, LAYOUT)
    load_balancers.remove(updating, TAGS)
    load_balancers.ensure(updating, LAYOUT)

    with pytest.raises(LoadBalancerGone, match=f'replaced load balancer {balancer.id}'):
        load_balancers.confirm(updating, LAYOUT, balancer)


@pytest.mark.parametrize('error', [ApiError('no', 400), LoadBalancerFailed('broken')])
def test_gone_if_replaced_with_selected_load_balancer_keeps_the_error(lab, error):
    """A failure is raised unchanged while the load balancer is the selected one."""
    balancer = load_balancers.ensure(updater(lab), LAYOUT)

    with (
        pytest.raises(type(error), match=str(error)),
        load_balancers.gone_if_replaced(updater(lab), LAYOUT, balancer.id),
    ):
        raise error


def test_remove_deletes_known_and_tagged_load_balancers(lab):
    """Load balancers with the tags and those with known ids are deleted."""
    load_balancers.ensure(updater(lab), LAYOUT)
    foreign, _ = lab.foreign()

    load_balancers.remove(updater(lab), TAGS, [foreign])

    assert lab.is_empty()
