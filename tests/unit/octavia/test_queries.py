"""Tests for looking up load balancers and their parts."""

import pytest

from placement_worker.errors import InvalidInput
from placement_worker.octavia import load_balancers, queries
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import LAYOUT, TAGS, updater


@pytest.fixture
def lab():
    return Lab()


def test_load_balancer_by_name_or_id_returns_it(lab):
    """A load balancer is found by its id and by its name."""
    lb_id, _ = lab.foreign()

    for name in (lb_id, 'front'):
        assert queries.load_balancer(updater(lab), name)['id'] == lb_id
    assert queries.load_balancer(updater(lab), 'back') is None


def test_load_balancer_with_ambiguous_name_is_refused(lab):
    """A name that several load balancers have is refused."""
    lab.foreign()
    lab.foreign()

    with pytest.raises(InvalidInput, match='2 load balancers have the name front'):
        queries.load_balancer(updater(lab), 'front')


def test_show_of_an_absent_object_returns_none(lab):
    """Showing an object that does not exist returns None."""
    assert queries.show(updater(lab), 'pool', 'p') is None


def test_part_of_another_parent_is_not_returned(lab):
    """A part is found by its tags and its parent."""
    balancer = load_balancers.ensure(updater(lab), LAYOUT)

    assert queries.part(updater(lab), 'pool', TAGS, balancer.id) == balancer.pool
    assert queries.part(updater(lab), 'pool', TAGS, 'other') is None
    assert queries.part(updater(lab), 'pool', ['other'], balancer.id) is None
