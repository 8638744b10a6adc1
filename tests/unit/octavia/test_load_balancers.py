"""The load balancer of a policy: found by its tags, completed, elected, removed."""

import dataclasses

import pytest

from placement_worker.cloud.ports import ApiError
from placement_worker.errors import InvalidInput, LoadBalancerFailed, LoadBalancerGone
from placement_worker.octavia.load_balancers import (
    OwnLoadBalancers,
    find_load_balancer,
    find_object,
    tags_of,
)
from tests.simulated_octavia import Lab
from tests.unit.octavia.simulated import LAYOUT, TAGS, updater


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def own(lab):
    """The load balancers of policy p1 and cluster c1."""
    return OwnLoadBalancers(updater(lab), TAGS)


def test_tags_of_name_cluster_and_policy():
    """Load balancers of earlier versions are found by these tags."""
    assert tags_of('c1', 'p1') == ['placement-worker:cluster=c1', 'placement-worker:policy=p1']


@pytest.mark.parametrize('monitor', [{'type': 'PING'}, None])
def test_ensure_creates_all_parts_in_one_call_with_marks(lab, own, monitor):
    """Every part has name and tags; a value of None is left to Octavia's default."""
    own.ensure(dataclasses.replace(LAYOUT, monitor=monitor))

    marks = {'name': 'web', 'tags': TAGS}
    pool = {**LAYOUT.pool, **marks}
    if monitor:
        pool['healthmonitor'] = {**monitor, **marks}
    listener = {**LAYOUT.listener, 'default_pool': pool, **marks}
    assert [call.arguments[1] for call in lab.calls if call.writes] == [
        {'vip_subnet_id': 'sub1', 'listeners': [listener], **marks}
    ]


def test_ensure_again_adopts_the_load_balancer(lab, own):
    """A second call returns the same parts and creates none."""
    first = own.ensure(LAYOUT)

    again = own.ensure(LAYOUT)

    assert (again.id, again.listener, again.pool) == (first.id, first.listener, first.pool)
    assert len(lab.settled()['loadbalancer']) == 1


@pytest.mark.parametrize(('balancer_tags', 'tags'), [([], TAGS), (TAGS, ['other'])])
def test_ensure_creates_a_part_unless_it_has_tags_and_parent(lab, own, balancer_tags, tags):
    """A part of another load balancer, or with other tags, is not adopted."""
    lab.pending_s = 0
    octavia = lab.octavia(None)
    balancer = octavia.create('loadbalancer', {'name': 'x', 'tags': balancer_tags})
    body = {'loadbalancer_id': balancer['id'], **LAYOUT.listener, 'tags': tags}
    other = octavia.create('listener', {**body, 'protocol_port': 81})['id']

    assert own.ensure(LAYOUT).listener != other


def test_confirm_after_replacement_raises_gone(own):
    """A load balancer that is not the selected one any more is gone."""
    balancer = own.ensure(LAYOUT)
    own.remove()
    own.ensure(LAYOUT)

    with pytest.raises(LoadBalancerGone, match=f'replaced load balancer {balancer.id}'):
        own.confirm(balancer)


@pytest.mark.parametrize('error', [ApiError('no', 400), LoadBalancerFailed('broken')])
def test_gone_if_replaced_with_selected_load_balancer_keeps_the_error(own, error):
    """A failure is raised unchanged while the load balancer is the selected one."""
    balancer = own.ensure(LAYOUT)

    with (
        pytest.raises(type(error), match=str(error)),
        own.gone_if_replaced(balancer.id),
    ):
        raise error


def test_remove_deletes_known_and_tagged_load_balancers(lab, own):
    """Load balancers with the tags and those with known ids are deleted."""
    own.ensure(LAYOUT)
    foreign, _ = lab.foreign()

    own.remove([foreign])

    assert lab.is_empty()


def test_find_load_balancer_by_name_or_id_returns_it(lab):
    """A load balancer is found by its id and by its name."""
    lb_id, _ = lab.foreign()

    for name in (lb_id, 'front'):
        assert find_load_balancer(updater(lab), name)['id'] == lb_id
    assert find_load_balancer(updater(lab), 'back') is None


def test_find_load_balancer_with_ambiguous_name_is_refused(lab):
    """A name that several load balancers have is refused."""
    lab.foreign()
    lab.foreign()

    with pytest.raises(InvalidInput, match='2 load balancers have the name front'):
        find_load_balancer(updater(lab), 'front')


def test_find_object_without_it_returns_none(lab):
    """An object that does not exist is no error; a refusal is one."""
    assert find_object(updater(lab), 'pool', 'p') is None

    def refuse(_):
        raise ApiError('no', 403)

    lab.around = refuse
    with pytest.raises(ApiError):
        find_object(updater(lab), 'pool', 'p')
