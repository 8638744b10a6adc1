"""An update that grows and shrinks a cluster until no node has the old profile."""

import datetime
import math

import pytest

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.endpoints import Endpoints
from tests.factories import NOW, deletion_policy, node, region_policy, request, zone_policy

OLD, NEW = '2026-01-01T00:00:00Z', '2026-06-01T00:00:00Z'


def rounds(registry, policy, places, step, members, grow='CLUSTER_SCALE_OUT'):
    """Return the number of rounds until each of the members is replaced, or None if never.

    :param places: the keys of a place in `placement`, and the names to use.
    """
    key, names = places
    cloud = {'zones': dict.fromkeys(names, True), 'regions': list(names)}
    endpoints = Endpoints(Inventory.parse(cloud, 'test'), registry)
    policies = [policy, deletion_policy('OLDEST_PROFILE_FIRST')]
    number = len(members)
    old = {one['id'] for one in members}
    for round_number in range(1, 4 * len(members) + 9):
        for _ in range(step if grow == 'NODE_CREATE' else 1):
            number += 1
            new = node(1, data={}) | {'id': f'n{number}', 'index': number, 'created_at': None}
            more = {'node': new} if grow == 'NODE_CREATE' else {'inputs': {'count': step}}
            reply = endpoints.policy_check(request(grow, policies, members, **more))
            for entry in reply['action']['data']['placement']['placements']:
                created_at = NOW + datetime.timedelta(minutes=number)
                members.append(
                    node(1, data={'placement': {key: entry[key]}})
                    | {
                        'id': f'n{number}',
                        'index': number,
                        'created_at': created_at.isoformat(),
                        'profile_created_at': NEW,
                    }
                )
                number += 1
        asked = request('CLUSTER_SCALE_IN', policies, members, inputs={'count': step})
        victims = endpoints.policy_check(asked)['action']['data']['deletion']['candidates']
        members = [one for one in members if one['id'] not in victims]
        if old.isdisjoint(one['id'] for one in members):
            return round_number
    return None


def cluster(key, names, size, weights=None):
    """Return old nodes, spread over places as their weights say."""
    weights = weights or [1] * len(names)
    order = [name for name, weight in zip(names, weights, strict=True) for _ in range(weight)]
    return [
        node(1, data={'placement': {key: order[i % len(order)]}})
        | {'id': f'n{i}', 'index': i, 'profile_created_at': OLD}
        for i in range(size)
    ]


@pytest.mark.parametrize('grow', ['CLUSTER_SCALE_OUT', 'NODE_CREATE'])
@pytest.mark.parametrize('number', [1, 2, 3, 4, 5])
@pytest.mark.parametrize('size', [1, 2, 5, 7, 12])
def test_update_one_by_one_takes_a_round_for_each_old_node(registry, number, size, grow):
    """No round deletes a new node, however the old nodes are spread over equal zones."""
    names = 'abcde'[:number]

    found = rounds(registry, zone_policy(*names), ('zone', names), 1,
                   cluster('zone', names, size), grow)  # fmt: skip

    assert found == size


@pytest.mark.parametrize('size', [2, 5, 7])
def test_update_one_by_one_over_regions_takes_a_round_for_each_old_node(registry, size):
    """Region placement breaks ties by the same rules as zone placement."""
    names = ['R1', 'R2', 'R3']

    found = rounds(registry, region_policy(*names), ('region_name', names), 1,
                   cluster('region_name', names, size))  # fmt: skip

    assert found == size


@pytest.mark.parametrize('step', [2, 3, 4])
@pytest.mark.parametrize('number', [1, 2, 3, 5])
@pytest.mark.parametrize('size', [2, 6, 11])
def test_update_in_larger_steps_takes_at_most_so_many_rounds_more(registry, number, size, step):
    """An update in steps ends soon after the old nodes, divided by the step, are replaced."""
    names = 'abcde'[:number]

    found = rounds(registry, zone_policy(*names), ('zone', names), step,
                   cluster('zone', names, size))  # fmt: skip

    assert found is not None
    assert found <= math.ceil(size / step) + step


@pytest.mark.parametrize('size', [6, 12, 15])
def test_update_over_unequal_weights_ends_in_steps_of_the_sum_of_weights(registry, size):
    """Weights 1:2:3 need steps of six, so that each zone gets and gives its share."""
    names, weights = 'abc', [1, 2, 3]
    policy = zone_policy(*zip(names, [100, 200, 300], strict=True))

    found = rounds(registry, policy, ('zone', names), 6, cluster('zone', names, size, weights))

    assert found is not None
    assert found <= math.ceil(size / 6) + 6


def test_update_starts_from_uneven_zones_and_still_ends(registry):
    """Two zones with one old node each, and new nodes in one of them, are updated."""
    members = cluster('zone', 'ab', 2)

    assert rounds(registry, zone_policy('a', 'b'), ('zone', 'ab'), 1, members) == 2
