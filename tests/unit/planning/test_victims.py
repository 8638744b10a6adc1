"""The order of victims, the choice by removal counts, and the protection of nodes."""

import datetime
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract import codec
from placement_worker.contract.action_data import Deletion
from placement_worker.contract.model import Node, NodeMetadata, NodePatch
from placement_worker.errors import InvalidInput
from placement_worker.planning import victims
from placement_worker.planning.victims import UNKNOWN, Protection, RemovalCounts, parse_protection
from tests.factories import NOW, node

CRITERIA = get_args(victims.Criteria)


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
    assert ids(victims.Members(AGED, criteria, 'seed').ordered) == expected


@pytest.mark.parametrize('criteria', CRITERIA)
def test_order_puts_unhealthy_nodes_first_then_never_created_ones(criteria):
    """Unhealthy nodes, then nodes never created, precede healthy ones, by any criterion."""
    members = made(
        node(1),
        node(2, created_at=None, status='INIT'),
        node(3, tainted=True),
        node(4, status='WARNING'),
        node(5, status='ERROR', created_at=None),
    )

    assert ids(victims.Members(members, criteria, 'seed').ordered) == ['n3', 'n4', 'n5', 'n2', 'n1']


def test_order_of_equal_nodes_with_one_index_follows_the_id():
    """Nodes that tie in criterion and index are ordered by id."""
    members = made(node(3, index=-1), node(1, index=-1), node(2, index=7))
    equals = [
        msgspec.structs.replace(member, created_at=members[0].created_at) for member in members
    ]

    assert ids(victims.Members(equals, 'OLDEST_FIRST', 'seed').ordered) == ['n1', 'n3', 'n2']


def test_random_order_is_the_same_on_every_machine_and_release():
    """The random order of a seed is fixed for all times."""
    members = made(*(node(n) for n in range(1, 9)))

    found = ' '.join(ids(victims.Members(members, 'RANDOM', 'act-1').ordered))
    assert found == 'n6 n5 n8 n2 n3 n1 n7 n4'


PLACED = made(
    node(1, 'a', 'R1'),
    node(2, 'b', 'R1'),
    node(3, None, 'R1'),
    node(4, 'a', 'R2'),
    node(5),
    node(6, 'a', 'R1'),
)


def place(region, count, zone=None):
    """Return the count of a place, as the data of an action have it."""
    return {'region_name': region, 'count': count, **({'zone': zone} if zone else {})}


def chosen(members, count, **deletion):
    """Return the choice among ordered nodes, by the counts of a deletion."""
    counts = RemovalCounts.planned_in(Deletion({'count': count, **deletion}), count)
    locations = {}
    for member in members:
        placement = member.data.get('placement', {})
        place = placement.get('region_name'), placement.get('zone')
        locations[member.id] = counts.location(*place)
    return victims.choose(members, count, counts, locations, {})


@pytest.mark.parametrize(
    ('count', 'deletion', 'expected'),
    [
        (2, {'zones': {'b': 1, 'a': 1}}, ['n1', 'n2']),
        (3, {'zone': {'a': 1}}, ['n3', 'n5', 'n1']),
        (3, {'regions': {'R2': 1, 'R1': 1}}, ['n5', 'n1', 'n4']),
        (1, {'region': {'R2': 1}}, ['n4']),
        (2, {'places': [place('R2', 1, 'a'), place('R1', 1, 'b')]}, ['n2', 'n4']),
        (3, {'regions': {'R1': 2}, 'places': [place('R1', 1, 'a')]}, ['n5', 'n3', 'n1']),
        (3, {'regions': {'R1': 3}, 'places': [place('R1', 3)]}, ['n1', 'n2', 'n3']),
        (2, {'places': [place('R1', 2)]}, ['n1', 'n2']),
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
    choice = chosen(PLACED, count, **deletion)

    assert ids(choice.victims) == expected
    assert ids(choice.spared) == [n.id for n in PLACED if n.id not in expected]


BOTH = [place('R1', 1, 'a'), place('R2', 2)]


def read(count=9, **deletion):
    """Return the removal counts of a decided deletion."""
    return RemovalCounts.planned_in(Deletion(deletion), count)


@pytest.mark.parametrize(
    ('deletion', 'expected'),
    [
        ({}, None),
        ({'zones': {'a': 1}}, {('a',): 1}),
        ({'zone': {'a': 1}}, {('a',): 1}),
        ({'regions': {'R1': 1}, 'zones': {'a': 1}}, {('R1',): 1}),
        ({'places': BOTH}, {('R1', 'a'): 1, ('R2',): 2}),
        ({'places': BOTH, 'regions': {'R1': 3, 'R2': 2}}, {('R1', 'a'): 1, ('R1',): 2, ('R2',): 2}),
        ({'places': []}, {}),
    ],
)
def test_removal_counts_are_those_of_the_most_precise_plan(deletion, expected):
    """`places` take precedence over `regions`, and these over `zones`."""
    assert read(**deletion).by_location == expected


def test_removal_counts_beyond_the_size_are_refused():
    """A plan for more nodes than the action deletes raises an error that names its path."""
    with pytest.raises(
        InvalidInput, match=r'at most 2 nodes, got one for 3 - at `\$\.action\.data\.deletion`'
    ):
        read(2, zones={'a': 3})


@pytest.mark.parametrize(
    ('deletion', 'expected'),
    [
        ({'zones': {}}, [('z',), ('z',), UNKNOWN]),
        ({'regions': {}}, [('R1',), ('R2',), ('R1',)]),
        ({'places': BOTH}, [('R1', 'z'), ('R2',), ('R1',)]),
    ],
)
def test_location_of_a_node_has_the_precision_of_the_plan(deletion, expected):
    """A node belongs to its zone, its region or both; an undivided region is one location."""
    counts = read(**deletion)

    located = [counts.location(*place) for place in [('R1', 'z'), ('R2', 'z'), ('R1', None)]]

    assert located == expected
    assert counts.location(None, None) == UNKNOWN


def test_unknown_locations_are_those_without_a_zone_in_a_divided_region():
    """The rest of a divided region is unknown; an undivided region is a location of its own."""
    assert read(places=BOTH, regions={'R1': 3, 'R2': 2}).unknown == {UNKNOWN, ('R1',)}
    assert read(zones={'a': 1}).unknown == {UNKNOWN}


DECEMBER = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
PAST, SOON = '2025-12-31', '2026-01-01T12:00:01Z'


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


def protected(*nodes, patches=None):
    """Return the ids of the protected nodes among these."""
    return list(victims.protections_in_force(nodes, patches or {}, NOW))


@pytest.mark.parametrize(
    ('node', 'expected'),
    [
        (Node('n', metadata=NodeMetadata('true')), True),
        (Node('n', data={'protected': True}), True),
        (Node('n', metadata=NodeMetadata('false'), data={'protected': True}), True),
        (Node('n', metadata=NodeMetadata(SOON)), True),
        (Node('n', metadata=NodeMetadata({'until': SOON})), True),
        (Node('n', metadata=NodeMetadata(NOW.isoformat())), False),
        (Node('n', metadata=NodeMetadata(PAST)), False),
        (Node('n', metadata=NodeMetadata()), False),
        (Node('n'), False),
    ],
)
def test_protection_in_force_reads_metadata_and_data_until_its_end(node, expected):
    """A node is protected by its metadata or its data, up to the end of the protection."""
    assert bool(protected(node)) == expected


def test_protection_in_force_uses_the_data_of_patches():
    """Data that an earlier policy changed replace those of the node, in both directions."""
    marked, plain = Node('n1', data={'protected': True}), Node('n2')
    patches = {'n1': NodePatch({}), 'n2': NodePatch({'protected': True})}

    assert protected(marked, plain, patches=patches) == ['n2']


def test_protected_nodes_are_ordered_by_index_and_listed_once():
    """The order does not depend on the request; one version of a node suffices to protect it."""
    nodes = [Node(f'n{index}', index=index, metadata=NodeMetadata('true')) for index in (3, 10, 2)]

    assert protected(*nodes, Node('n3', index=3)) == ['n2', 'n3', 'n10']


@pytest.mark.parametrize(
    ('one', 'words', 'details'),
    [
        (Protection(), 'protected', ('', '')),
        (
            Protection(DECEMBER, 'batch job'),
            'protected until 2026-12-01 (batch job)',
            ('2026-12-01', 'batch job'),
        ),
        (
            Protection(DECEMBER.replace(hour=13)),
            'protected until 2026-12-01T13:00:00Z',
            ('2026-12-01T13:00:00Z', ''),
        ),
        (Protection(reason='x' * 100), f'protected ({"x" * 80}...)', ('', 'x' * 100)),
    ],
)
def test_protection_in_words_has_end_and_reason(one, words, details):
    """A day that begins at the end of a protection stands for it; a long reason is cut."""
    assert str(one) == words
    assert one.details == dict(zip(('until', 'reason'), details, strict=True))


def test_too_few_victims_names_the_protected_nodes():
    """The sentence has both numbers, and the first ten nodes with end and reason."""
    few = {'n4': Protection(DECEMBER, 'batch job'), 'n5': Protection()}
    many = {f'n{number}': Protection() for number in range(12)}

    assert victims.too_few_victims(1, 3, few) == (
        'Only 1 of 3 nodes can be deleted: n4 is protected until 2026-12-01 (batch job), '
        'n5 is protected'
    )
    assert victims.too_few_victims(0, 12, many).endswith(', n9 is protected and 2 more')
