"""The protection of nodes from deletion."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement_worker.contract.model import Node, NodeMetadata, NodePatch
from placement_worker.planning import protection
from placement_worker.planning.protection import Protection, parse
from tests.factories import NOW

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
    ],
)
def test_parse_of_each_form_protects(value, expected):
    """A node is protected by true, a time, or a map; a string may hold each of them."""
    assert parse(value) == expected


@pytest.mark.parametrize('value', [None, False, 'false', 'False'])
def test_parse_of_an_absent_or_false_value_protects_nothing(value):
    """A user removes the protection by removing the key, or by `false`."""
    assert parse(value) is None


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
def test_parse_of_an_invalid_value_protects_without_end(value, invalid):
    """A value that cannot be parsed protects, and is kept for a warning."""
    assert parse(value) == Protection(invalid=invalid)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
        lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    )
)
def test_parse_of_any_value_raises_no_error(value):
    """No value that a user can write breaks a decision."""
    parse(value.isoformat() if isinstance(value, datetime.datetime) else value)


def protected(*nodes, patches=None):
    """Return the ids of the protected nodes among these."""
    return list(protection.in_force(nodes, patches or {}, NOW))


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
def test_in_force_reads_metadata_and_data_until_their_end(node, expected):
    """A node is protected by its metadata or its data, up to the end of the protection."""
    assert bool(protected(node)) == expected


def test_in_force_uses_the_data_of_patches():
    """Data that an earlier policy changed replace those of the node, in both directions."""
    marked, plain = Node('n1', data={'protected': True}), Node('n2')
    patches = {'n1': NodePatch({}), 'n2': NodePatch({'protected': True})}

    assert protected(marked, plain, patches=patches) == ['n2']


def test_in_force_orders_nodes_by_index_and_includes_repeated_ones_once():
    """The order does not depend on the request; one version of a node suffices to protect it."""
    nodes = [Node(f'n{index}', index=index, metadata=NodeMetadata('true')) for index in (3, 10, 2)]

    assert protected(*nodes, Node('n3', index=3)) == ['n2', 'n3', 'n10']


def test_marked_finds_metadata_and_data_alone():
    """Only nodes with the key in metadata or data need a closer look."""
    nodes = [
        Node('n1'),
        Node('n2', metadata=NodeMetadata()),
        Node('n3', data={'protected': False}),
    ]

    assert [node.id for node in protection.marked(nodes)] == ['n2', 'n3']
    assert protection.marked(nodes[:1]) == []


@pytest.mark.parametrize(
    ('one', 'words', 'details'),
    [
        (Protection(), 'protected', {'until': '', 'reason': ''}),
        (
            Protection(DECEMBER, 'batch job'),
            'protected until 2026-12-01 (batch job)',
            {'until': '2026-12-01', 'reason': 'batch job'},
        ),
        (
            Protection(DECEMBER.replace(hour=13)),
            'protected until 2026-12-01T13:00:00Z',
            {'until': '2026-12-01T13:00:00Z', 'reason': ''},
        ),
        (
            Protection(reason='x' * 100),
            f'protected ({"x" * 80}...)',
            {'until': '', 'reason': 'x' * 100},
        ),
    ],
)
def test_protection_in_words_has_end_and_reason(one, words, details):
    """A day that begins at the end of a protection stands for it; a long reason is cut."""
    assert (str(one), one.details) == (words, details)


def test_too_few_names_the_protected_nodes():
    """The sentence has both numbers, and the first ten nodes with end and reason."""
    few = {'n4': Protection(DECEMBER, 'batch job'), 'n5': Protection()}
    many = {f'n{number}': Protection() for number in range(12)}

    assert protection.too_few(1, 3, few) == (
        'Only 1 of 3 nodes can be deleted: n4 is protected until 2026-12-01 (batch job), '
        'n5 is protected'
    )
    assert protection.too_few(0, 12, many).endswith(', n9 is protected and 2 more')


def test_unparsed_names_nodes_and_values():
    """One sentence names all nodes whose protection cannot be parsed."""
    parsed = {'n1': Protection()}

    assert protection.unparsed(parsed) == []
    assert protection.unparsed({**parsed, 'n2': parse('maybe'), 'n3': parse(7)}) == [
        'Cannot parse `protected`, so these nodes stay protected: n2 (got `"maybe"`), n3 '
        '(got `7`); expected `true`, `false`, a time in ISO 8601, or `{until, reason}`'
    ]
