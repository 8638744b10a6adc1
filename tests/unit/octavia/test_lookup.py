"""Tests for looking up load balancers and their parts."""

import pytest

from placement_worker.errors import InvalidInput
from placement_worker.octavia import lookup
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import updater


@pytest.fixture
def lab():
    return Lab()


def test_load_balancer_by_name_or_id_returns_it(lab):
    """A load balancer is found by its id and by its name."""
    lb_id, _ = lab.foreign()

    for name in (lb_id, 'front'):
        assert lookup.load_balancer(updater(lab), name)['id'] == lb_id
    assert lookup.load_balancer(updater(lab), 'back') is None


def test_load_balancer_with_ambiguous_name_is_refused(lab):
    """A name that several load balancers have is refused."""
    lab.foreign()
    lab.foreign()

    with pytest.raises(InvalidInput, match='2 load balancers have the name front'):
        lookup.load_balancer(updater(lab), 'front')


def test_show_of_an_absent_object_returns_none(lab):
    """Showing an object that does not exist returns None."""
    assert lookup.show(updater(lab), 'pool', 'p') is None
