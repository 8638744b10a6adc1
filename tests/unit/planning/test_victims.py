"""Who dies first."""

import random

import msgspec
import pytest

from placement_worker.contract import codec
from placement_worker.contract.action_data import Deletion
from placement_worker.contract.model import Node
from placement_worker.errors import InvalidInput, NoFeasiblePlan
from placement_worker.planning import victims
from placement_worker.planning.removal_counts import RemovalCounts
from tests.factories import node


def made(*members):
    return [codec.decode(member, Node) for member in members]


def ids(members):
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
def test_sound_nodes_die_by_criteria_and_equals_by_index(criteria, expected):
    assert ids(victims.order(AGED, criteria, 'seed')) == expected


@pytest.mark.parametrize(
    'criteria', ['OLDEST_FIRST', 'YOUNGEST_FIRST', 'OLDEST_PROFILE_FIRST', 'RANDOM']
)
def test_unhealthy_nodes_die_first_then_those_never_created(criteria):
    members = made(
        node(1),
        node(2, created_at=None, status='INIT'),
        node(3, tainted=True),
        node(4, status='WARNING'),
        node(5, status='ERROR', created_at=None),
    )

    assert ids(victims.order(members, criteria, 'seed')) == ['n3', 'n4', 'n5', 'n2', 'n1']


@pytest.mark.parametrize(
    'criteria', ['OLDEST_FIRST', 'YOUNGEST_FIRST', 'OLDEST_PROFILE_FIRST', 'RANDOM']
)
def test_the_order_of_the_request_does_not_matter(criteria):
    members = made(*(node(n, created_at=f'2026-01-{1 + n % 4:02}T00:00:00Z') for n in range(1, 29)))
    expected = ids(victims.order(members, criteria, 'seed'))

    for number in range(20):
        shuffled = random.Random(number).sample(members, len(members))
        assert ids(victims.order(shuffled, criteria, 'seed')) == expected


def test_equals_of_one_index_die_by_id():
    members = made(node(3, index=-1), node(1, index=-1), node(2, index=7))
    equals = [
        msgspec.structs.replace(member, created_at=members[0].created_at) for member in members
    ]

    assert ids(victims.order(equals, 'OLDEST_FIRST', 'seed')) == ['n1', 'n3', 'n2']


def test_random_means_another_order_for_another_action_and_every_node_can_be_hit():
    members = made(*(node(n) for n in range(1, 6)))

    first = [victims.order(members, 'RANDOM', f'act-{n}')[0].id for n in range(200)]

    assert set(first) == {'n1', 'n2', 'n3', 'n4', 'n5'}
    assert max(map(first.count, first)) < 70


def test_a_random_order_is_the_same_on_every_machine_and_release():
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


def test_without_quotas_more_than_there_are_means_all():
    choice = victims.choose(AGED, 9, None, lambda _: victims.UNKNOWN)

    assert ids(choice.victims) == ids(AGED)
    assert not choice.spared


PLACED = made(
    node(1, 'a', 'R1'),
    node(2, 'b', 'R1'),
    node(3, None, 'R1'),
    node(4, 'a', 'R2'),
    node(5),
    node(6, 'a', 'R1'),
)


def chosen(count, **deletion):
    counts = RemovalCounts.of(Deletion({'count': count, **deletion}), count)
    places = {n.id: n.data.get('placement', {}) for n in PLACED}
    choice = victims.choose(
        PLACED,
        count,
        counts.by_location,
        lambda n: counts.location(places[n.id].get('region_name'), places[n.id].get('zone')),
    )
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
        'places in the order of names',
        'what zones leave comes from nodes in no known zone, first',
        'by region',
        'the documents say region too',
        'by region and zone',
        "what a region's zones leave comes from its nodes without one",
        'a region without usable zones',
        'the same, said by places alone',
    ],
)
def test_quotas_say_how_many_die_where(count, deletion, expected):
    victims_, spared = chosen(count, **deletion)

    assert victims_ == expected
    assert spared == [n.id for n in PLACED if n.id not in expected]


@pytest.mark.parametrize(
    ('count', 'deletion', 'reason'),
    [
        (2, {'zones': {'b': 2}}, '2 nodes are to leave b, which holds 1.'),
        (4, {'zones': {'b': 1}}, '3 nodes are to leave no known place, which holds 2.'),
        (
            2,
            {'places': [{'region_name': 'R2', 'zone': 'a', 'count': 2}]},
            '2 nodes are to leave R2 / a, which holds 1.',
        ),
    ],
)
def test_a_place_that_holds_too_few_is_named(count, deletion, reason):
    with pytest.raises(NoFeasiblePlan) as refused:
        chosen(count, **deletion)

    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ('deletion', 'message'),
    [
        ({'zones': [1]}, 'Expected `object`, got `array` - at `$.action.data.deletion.zones`'),
        (
            {'zones': {'a': -1}},
            'Expected `int` >= 0, got `-1` - at `$.action.data.deletion.zones.a`',
        ),
        ({'places': {}}, 'Expected `array`, got `object` - at `$.action.data.deletion.places`'),
        (
            {'places': [{'zone': 'a', 'count': 1}]},
            'Expected `object` with `region_name`, got `object` - at `$.action.data.deletion.places[0]`',
        ),
        (
            {'places': [{'region_name': 'R1', 'zone': 1, 'count': 1}]},
            'Expected `str`, got `1` - at `$.action.data.deletion.places[0].zone`',
        ),
        (
            {'places': [{'region_name': 'R1', 'zone': 'a'}]},
            'Expected `int`, got `null` - at `$.action.data.deletion.places[0].count`',
        ),
    ],
)
def test_quotas_that_are_none_are_named(deletion, message):
    with pytest.raises(InvalidInput) as refused:
        RemovalCounts.of(Deletion(deletion), 9)

    assert str(refused.value) == message


def test_a_plan_for_more_than_the_count_is_refused():
    with pytest.raises(
        InvalidInput, match=r'at most 2 nodes, got one for 3 - at `\$\.action\.data\.deletion`'
    ):
        RemovalCounts.of(Deletion({'zones': {'a': 3}}), 2)
