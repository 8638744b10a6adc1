"""The order of victims, and the choice that follows the removal counts."""

import random
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract import codec
from placement_worker.contract.action_data import Deletion
from placement_worker.contract.model import Node
from placement_worker.errors import NoFeasiblePlan
from placement_worker.planning import victims
from placement_worker.planning.removal_counts import RemovalCounts
from tests.factories import node


def made(*members):
    """Return decoded nodes."""
    return [codec.decode(member, Node) for member in members]


def ids(members):
    """Return the ids of nodes."""
    return [member.id for member in members]


AGED = made(
    node(1, created_at='2026-01-03T00:00:00Z', profile_created_at='2026-01-02T00:00:00Z'),
    node(2, created_at='2026-01-01T00:00:00Z', profile_created_at=None),
    node(3, created_at='2026-01-02T00:00:00', profile_created_at='2026-01-01T00:00:00+01:00'),
    node(4, created_at='2026-01-02T00:00:00Z', profile_created_at='2026-01-01T00:00:00Z'),
)


@pytest.mark.parametrize(
    ('criteria', 'expected'),
    [
        ('OLDEST_FIRST', ['n2', 'n3', 'n4', 'n1']),
        ('YOUNGEST_FIRST', ['n1', 'n3', 'n4', 'n2']),
        ('OLDEST_PROFILE_FIRST', ['n2', 'n3', 'n4', 'n1']),
    ],
)
def test_order_of_healthy_nodes_follows_criteria_then_index(criteria, expected):
    """Healthy nodes are ordered by the criterion; ties by index; a missing time is the oldest."""
    assert ids(victims.order(AGED, criteria, 'seed')) == expected


@pytest.mark.parametrize(
    'criteria', ['OLDEST_FIRST', 'YOUNGEST_FIRST', 'OLDEST_PROFILE_FIRST', 'RANDOM']
)
def test_order_puts_unhealthy_nodes_first_then_never_created_ones(criteria):
    """Unhealthy nodes, then nodes never created, precede healthy ones, by any criterion."""
    members = made(
        node(1),
        node(2, created_at=None, status='INIT'),
        node(3, tainted=True),
        node(4, status='WARNING'),
        node(5, status='ERROR', created_at=None),
    )

    assert ids(victims.order(members, criteria, 'seed')) == ['n3', 'n4', 'n5', 'n2', 'n1']


@st.composite
def mixed(draw):
    """Return nodes in any state, with times that may be missing or have no time zone."""
    times = st.sampled_from(['2026-01-01T00:00:00Z', '2026-01-02T00:00:00', None])
    return made(
        *(
            node(
                number,
                status=draw(st.sampled_from(['ACTIVE', 'ERROR', 'INIT'])),
                tainted=draw(st.booleans()),
                created_at=draw(times),
                profile_created_at=draw(times),
            )
            for number in range(1, draw(st.integers(1, 9)))
        )
    )


@given(mixed(), st.sampled_from(get_args(victims.Criteria)))
def test_order_of_healthy_nodes_does_not_depend_on_the_others(members, criteria):
    """Healthy nodes follow all others, in the order that they have alone."""
    unhealthy, never_created = victims.before_healthy(members)
    first = [*unhealthy, *never_created]
    healthy = [one for one in members if one not in first]

    expected = ids([*first, *victims.order(healthy, criteria, 'seed')])

    assert ids(victims.order(members, criteria, 'seed')) == expected


@pytest.mark.parametrize(
    'criteria', ['OLDEST_FIRST', 'YOUNGEST_FIRST', 'OLDEST_PROFILE_FIRST', 'RANDOM']
)
def test_order_is_independent_of_the_order_of_the_request(criteria):
    """Shuffled nodes have the same order, by any criterion."""
    members = made(*(node(n, created_at=f'2026-01-{1 + n % 4:02}T00:00:00Z') for n in range(1, 29)))
    expected = ids(victims.order(members, criteria, 'seed'))

    for number in range(20):
        shuffled = random.Random(number).sample(members, len(members))
        assert ids(victims.order(shuffled, criteria, 'seed')) == expected


def test_order_of_equal_nodes_with_one_index_follows_the_id():
    """Nodes that tie in criterion and index are ordered by id."""
    members = made(node(3, index=-1), node(1, index=-1), node(2, index=7))
    equals = [
        msgspec.structs.replace(member, created_at=members[0].created_at) for member in members
    ]

    assert ids(victims.order(equals, 'OLDEST_FIRST', 'seed')) == ['n1', 'n3', 'n2']


def test_random_order_differs_by_action_and_can_choose_every_node():
    """The random order depends on the action, and each node is first for some action."""
    members = made(*(node(n) for n in range(1, 6)))

    first = [victims.order(members, 'RANDOM', f'act-{n}')[0].id for n in range(200)]

    assert set(first) == {'n1', 'n2', 'n3', 'n4', 'n5'}
    assert max(map(first.count, first)) < 70


def test_random_order_is_the_same_on_every_machine_and_release():
    """The random order of a seed is fixed for all times."""
    members = made(*(node(n) for n in range(1, 9)))

    assert ids(victims.order(members, 'RANDOM', 'act-1')) == [
        'n6',
        'n5',
        'n8',
        'n2',
        'n3',
        'n1',
        'n7',
        'n4',
    ]


def test_choice_without_removal_counts_of_more_than_exist_takes_all():
    """Without a plan, a count beyond the number of nodes chooses all of them."""
    choice = victims.choose(AGED, 9, None, {})

    assert ids(choice.victims) == ids(AGED)
    assert [*choice.spared] == []


PLACED = made(
    node(1, 'a', 'R1'),
    node(2, 'b', 'R1'),
    node(3, None, 'R1'),
    node(4, 'a', 'R2'),
    node(5),
    node(6, 'a', 'R1'),
)


def held_at(members, location_of):
    """Return location -> its nodes, in their order."""
    held = {}
    for one in members:
        held.setdefault(location_of(one), []).append(one)
    return held


def chosen(count, **deletion):
    """Return the ids of the victims and of the other nodes."""
    counts = RemovalCounts.of(Deletion({'count': count, **deletion}), count)

    def location_of(one):
        place = one.data.get('placement', {})
        return counts.location(place.get('region_name'), place.get('zone'))

    choice = victims.choose(PLACED, count, counts.by_location, held_at(PLACED, location_of))
    return ids(choice.victims), ids(choice.spared)


@pytest.mark.parametrize(
    ('count', 'deletion', 'expected'),
    [
        (2, {'zones': {'b': 1, 'a': 1}}, ['n1', 'n2']),
        (3, {'zone': {'a': 1}}, ['n3', 'n5', 'n1']),
        (3, {'regions': {'R2': 1, 'R1': 1}}, ['n5', 'n1', 'n4']),
        (1, {'region': {'R2': 1}}, ['n4']),
        (
            2,
            {
                'places': [
                    {'region_name': 'R2', 'zone': 'a', 'count': 1},
                    {'region_name': 'R1', 'zone': 'b', 'count': 1},
                ]
            },
            ['n2', 'n4'],
        ),
        (
            3,
            {'regions': {'R1': 2}, 'places': [{'region_name': 'R1', 'zone': 'a', 'count': 1}]},
            ['n5', 'n3', 'n1'],
        ),
        (
            3,
            {'regions': {'R1': 3}, 'places': [{'region_name': 'R1', 'count': 3}]},
            ['n1', 'n2', 'n3'],
        ),
        (2, {'places': [{'region_name': 'R1', 'count': 2}]}, ['n1', 'n2']),
    ],
    ids=[
        'by zone, in the order of names',
        'the rest comes from nodes of unknown zone, first',
        'by region',
        'the singular key',
        'by region and zone',
        'the rest of a region comes from its nodes of unknown zone',
        'a region without usable zones',
        'an undivided region without a plan by region',
    ],
)
def test_choice_takes_as_many_from_each_location_as_planned(count, deletion, expected):
    """Each location gives as many nodes as its removal count; the rest has no known place."""
    found, spared = chosen(count, **deletion)

    assert found == expected
    assert spared == [n.id for n in PLACED if n.id not in expected]


@pytest.mark.parametrize(
    ('count', 'deletion', 'reason'),
    [
        (2, {'zones': {'b': 2}}, '2 nodes are to leave b, which holds 1.'),
        (4, {'zones': {'b': 1}}, '3 nodes are to leave (no known place), which holds 2.'),
        (
            2,
            {'places': [{'region_name': 'R2', 'zone': 'a', 'count': 2}]},
            '2 nodes are to leave R2 / a, which holds 1.',
        ),
    ],
)
def test_choice_from_a_location_with_too_few_nodes_is_refused(count, deletion, reason):
    """A location with fewer nodes than planned raises an error that names it and both numbers."""
    with pytest.raises(NoFeasiblePlan) as refused:
        chosen(count, **deletion)

    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ('held', 'planned', 'expected'),
    [
        ('aaaabbbbcccc', {'a': 2, 'b': 2, 'c': 2}, 'a b c a b c'),
        ('aaaaaabbbb', {'a': 3, 'b': 1}, 'a a a b'),
        ('aAbB', {'a': 2, 'b': 2}, 'A B a b'),
        ('aA?', {'a': 2}, 'A ? a'),
    ],
    ids=['even', 'the fuller place first', 'unhealthy nodes first', 'unknown first in a group'],
)
def test_choice_stands_in_rounds_over_the_places_of_each_group(held, planned, expected):
    """An engine that stops half way leaves the places as even as it can; capitals are unhealthy."""
    members = made(
        *(
            node(number, None if zone == '?' else zone.lower(),
                 status='ERROR' if zone.isupper() else 'ACTIVE')
            for number, zone in enumerate(held, start=1)
        )
    )  # fmt: skip
    count = sum(planned.values()) + held.count('?')
    counts = RemovalCounts.of(Deletion({'count': count, 'zones': planned}), count)

    def location_of(one):
        return counts.location(None, one.data.get('placement', {}).get('zone'))

    ordered = victims.order(members, 'OLDEST_FIRST', 'seed')
    located = held_at(ordered, location_of)
    choice = victims.choose(ordered, count, counts.by_location, located, counts.unknown)

    assert ' '.join(held[one.index - 1] for one in choice.victims) == expected
