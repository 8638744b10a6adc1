"""The rows of plans with the counts of the reply."""

from placement_worker.contract.model import (
    ActionPatch,
    BindingPatch,
    BindReply,
    CheckReply,
    Decision,
)
from placement_worker.decisions import final_places


def rows(data, *planned):
    """Return the rows of a reply with this data and plans by zone."""
    decisions = [
        Decision('p', None, 'test-1.0', 1, 'APPLIED', '', 0, {'zones': zones}) for zones in planned
    ]
    return final_places.rows(
        CheckReply(action=ActionPatch('a1', data), cluster=None, nodes={}, decisions=decisions)
    )


def row(name, planned, final, note='', current=3):
    """Return the row of a zone."""
    return {'name': name, 'current': current, 'planned': planned, 'final': final, 'note': note}


def test_rows_that_a_later_policy_changed_have_the_counts_of_the_reply():
    """The table agrees with the places of the nodes, and says what was planned before."""
    plan = [row('a', 2, 5), row('b', 0, 3, 'at its cap'), row('c', 1, 4)]

    assert rows({'creation': {'count': 4, 'zones': {'b': 2, 'c': 1, 'd': 1}}}, plan) == [
        row('a', 0, 3, '2 before a later policy'),
        row('b', 2, 5, 'at its cap, 0 before a later policy'),
        row('c', 1, 4),
        {'name': 'd', 'planned': 1, 'note': 'of a later policy'},
    ]


def test_rows_of_a_deletion_count_down():
    """The final count is smaller than the current one."""
    assert rows({'deletion': {'count': 1, 'zones': {'a': 1}}}, [row('a', 2, 1)]) == [
        row('a', 1, 2, '2 before a later policy')
    ]


def test_rows_without_a_comparable_plan_stay():
    """Counts that cannot be compared are shown as they were recorded."""
    plan, twice = [row('a', 2, 5)], [row('a', 1, 4), row('a', 1, 4)]

    assert rows({'creation': {'count': 2}}, plan) == plan
    assert rows({'creation': {'zones': {}}, 'deletion': {'zones': {}}}, plan) == plan
    assert rows({'creation': {'count': 2, 'zones': {'a': 2}}}, twice) == twice
    assert rows({'creation': {'zones': {'a': 1}}}, [{'name': 'a'}]) == [{'name': 'a'}]
    assert rows({}, 5) == rows({}, [5, {'name': 1}]) == []


def test_rows_of_an_attachment_are_none():
    """An attachment has no plan."""
    reply = BindReply(status='OK', reason='', policy=BindingPatch('p', {}), cluster=None, nodes={})

    assert final_places.rows(reply) == []
