"""The order of victims, the choice by removal counts, and the protection of nodes."""

import datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract import codec
from placement_worker.contract.action_data import Deletion
from placement_worker.contract.model import Node, NodeMetadata
from placement_worker.planning import victims
from placement_worker.planning.victims import Protection, RemovalCounts, parse_protection
from tests.factories import NOW, node


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
IN_GROUPS = made(
    node(1),
    node(2, created_at=None, status='INIT'),
    node(3, tainted=True),
    node(4, status='WARNING'),
    node(5, status='ERROR', created_at=None),
)
AS_OLD = {'created_at': '2026-01-01T00:00:00Z'}
EQUAL = made(node(3, index=-1, **AS_OLD), node(1, index=-1, **AS_OLD), node(2, index=7, **AS_OLD))


@pytest.mark.parametrize(
    ('criteria', 'members', 'expected'),
    [
        ('OLDEST_FIRST', AGED, 'n2 n3 n4 n1'),
        ('YOUNGEST_FIRST', AGED, 'n1 n3 n4 n2'),
        ('OLDEST_PROFILE_FIRST', AGED, 'n2 n3 n4 n1'),
        *((criteria, IN_GROUPS, 'n3 n4 n5 n2 n1') for criteria in get_args(victims.Criteria)),
        ('OLDEST_FIRST', EQUAL, 'n1 n3 n2'),
        # The random order of a seed is fixed for all times, machines and releases.
        ('RANDOM', made(*(node(n) for n in range(1, 9))), 'n6 n5 n8 n2 n3 n1 n7 n4'),
    ],
)
def test_order_follows_group_criterion_index_and_id(criteria, members, expected):
    """Unhealthy nodes leave first, then nodes never created; a missing time is the oldest."""
    found = victims.Members(members, criteria, 'act-1')

    assert ' '.join(ids(found.ordered)) == expected
    healthy = [] if criteria == 'RANDOM' else ids(found.groups[-1])
    ranks = [(name, rank) for rank, name in enumerate(expected.split()) if name in healthy]
    assert [*found.ranks.items()] == ranks


PLACES = ('a', 'R1'), ('b', 'R1'), (None, 'R1'), ('a', 'R2'), (None, None), ('a', 'R1')
PLACED = made(*(node(number, *place) for number, place in enumerate(PLACES, start=1)))


def place(region, count, zone=None):
    return {'region_name': region, 'count': count, **({'zone': zone} if zone else {})}


def chosen(members, count, **deletion):
    counts = RemovalCounts.planned_in(Deletion({'count': count, **deletion}), count)
    locations = {}
    for member in members:
        placement = member.data.get('placement', {})
        place = placement.get('region_name'), placement.get('zone')
        locations[member.id] = counts.location(*place)
    return victims.choose(members, count, counts, locations, {})


R1, R1_A, R2 = place('R1', 1), place('R1', 1, 'a'), place('R2', 1)


@pytest.mark.parametrize(
    ('count', 'deletion', 'expected', 'unplaced'),
    [
        (3, {'zone': {'a': 1}}, 'n3 n5 n1', 'n3 n5'),
        (1, {'regions': {'R2': 1}, 'zones': {'b': 1}}, 'n4', ''),
        (1, {'places': []}, 'n5', 'n5'),
        (3, {'regions': {'R1': 2}, 'places': [R1_A]}, 'n5 n3 n1', 'n3 n5'),
        (3, {'regions': {'R1': 2, 'R2': 1}, 'places': [R1_A, R2]}, 'n3 n1 n4', 'n3'),
        (3, {'regions': {'R1': 3}, 'places': [place('R1', 3)]}, 'n1 n2 n3', ''),
        (2, {'places': [R1, R1]}, 'n1 n2', ''),
    ],
    ids=[
        'the rest comes from nodes of unknown zone, first',
        'regions take precedence over zones',
        'an empty plan',
        'the rest of a region comes from its nodes of unknown zone',
        'one region is divided, the other is not',
        'a region without usable zones',
        'an undivided region without a plan by region',
    ],
)
def test_choice_takes_as_many_from_each_location_as_planned(count, deletion, expected, unplaced):
    """Each location gives as many nodes as its removal count; the rest has no known place."""
    choice = chosen(PLACED, count, **deletion)

    assert ' '.join(ids(choice.victims)) == expected
    assert ids(choice.spared) == [n.id for n in PLACED if n.id not in expected.split()]
    assert choice.unplaced == set(unplaced.split())


DECEMBER = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
PAST, SOON, AT_13 = '2025-12-31', '2026-01-01T12:00:01Z', '2026-12-01T13:00:00Z'


@pytest.mark.parametrize(
    ('value', 'expected'),
    [
        (True, Protection()),
        ('true', Protection()),
        (' TRUE ', Protection()),
        ('2026-12-01', Protection(DECEMBER)),
        ('2026-12-01T00:00:00', Protection(DECEMBER)),
        ('2026-12-01T01:00:00+01:00', Protection(DECEMBER)),
        ({'until': '2026-12-01', 'reason': 'batch job'}, Protection(DECEMBER, 'batch job')),
        ({'until': None, 'reason': 'batch job'}, Protection(None, 'batch job')),
        ({'until': '2026-12-01', 'reason': None}, Protection(DECEMBER)),
        ('{"until": "2026-12-01", "reason": "batch job"}', Protection(DECEMBER, 'batch job')),
        (None, None),
        (False, None),
        ('false', None),
        ('False', None),
    ],
)
def test_protection_has_several_forms_and_ends_by_removal_or_false(value, expected):
    """A node is protected by true, a time, or a map; a string may hold each of them."""
    assert parse_protection(value) == expected


@pytest.mark.parametrize(
    ('value', 'invalid'),
    [
        ('', '`""`'),
        ('maybe', '`"maybe"`'),
        ('2026-13-01', '`"2026-13-01"`'),
        ('1712011200000', '`"1712011200000"`'),
        (1, '`1`'),
        (1.5, '`1.5`'),
        ([], '`array`'),
        ({}, '`object`'),
        ({'untl': '2026-12-01'}, '`object`'),
        ({'until': 7}, '`object`'),
        ({'until': True}, '`object`'),
        ({'reason': 7}, '`object`'),
        ('{"until": ', '`"{\\"until\\": "`'),
        ('{"a":' * 100_000, '`"' + '{\\"a\\":' * 16 + '..."`'),
        ('x' * 100, '`"' + 'x' * 80 + '..."`'),
    ],
)
def test_protection_by_an_invalid_value_has_no_end(value, invalid):
    """A value that cannot be parsed protects, and is kept for a warning."""
    assert parse_protection(value) == Protection(invalid=invalid)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
        lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    )
)
def test_protection_by_any_value_raises_no_error(value):
    """No value that a user can write breaks a decision."""
    parse_protection(value.isoformat() if isinstance(value, datetime.datetime) else value)


MARKED = Node('n1', data={'protected': True})


def marked(index):
    return Node(f'n{index}', index=index, metadata=NodeMetadata('true'))


@pytest.mark.parametrize(
    ('nodes', 'expected'),
    [
        ([Node('n', metadata=NodeMetadata('true'))], ['n']),
        ([MARKED], ['n1']),
        ([Node('n', metadata=NodeMetadata('false'), data={'protected': True})], ['n']),
        ([Node('n', metadata=NodeMetadata(SOON))], ['n']),
        ([Node('n', metadata=NodeMetadata({'until': SOON}))], ['n']),
        ([Node('n', metadata=NodeMetadata(NOW.isoformat()))], []),
        ([Node('n', metadata=NodeMetadata(PAST))], []),
        ([Node('n', metadata=NodeMetadata()), Node('m')], []),
        # The order is by index; one version of a node suffices to protect it.
        ([*map(marked, (3, 10, 2)), Node('n3', index=3)], ['n2', 'n3', 'n10']),
    ],
)
def test_protection_in_force_reads_metadata_and_data_until_its_end(nodes, expected):
    """A node is protected by its metadata or its data, up to the end of the protection."""
    assert list(victims.protections_in_force(nodes, {}, NOW)) == expected


@pytest.mark.parametrize(
    ('one', 'words', 'details'),
    [
        (Protection(), 'protected', ('', '')),
        (Protection(DECEMBER, 'job'), 'protected until 2026-12-01 (job)', ('2026-12-01', 'job')),
        (Protection(DECEMBER.replace(hour=13)), f'protected until {AT_13}', (AT_13, '')),
        (Protection(reason='x' * 100), f'protected ({"x" * 80}...)', ('', 'x' * 100)),
    ],
)
def test_protection_in_words_has_end_and_reason(one, words, details):
    """A day that begins at the end of a protection stands for it; a long reason is cut."""
    assert str(one) == words
    assert one.details == dict(zip(('until', 'reason'), details, strict=True))


def test_too_few_victims_names_the_protected_nodes():
    """The sentence has the first ten nodes, and the number of the others."""
    many = {f'n{number}': Protection() for number in range(12)}

    assert victims.too_few_victims(0, 12, many).endswith(', n9 is protected and 2 more')
