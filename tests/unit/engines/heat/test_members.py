"""The members of a group, read from the rows of Heat's API."""

import datetime

from placement_worker.engines.heat import members

CREATED = '2026-11-22T20:00:00Z'


def row(name, action='CREATE', status='COMPLETE', reason='state changed'):
    return {
        'resource_name': name,
        'resource_action': action,
        'resource_status': status,
        'resource_status_reason': reason,
        'creation_time': CREATED,
        'updated_time': CREATED,
    }


def read(*rows, names=('a',)):
    return members.from_rows(names, rows, lambda name: 'az1', lambda name: name == 'old')


def test_members_have_the_order_of_the_names():
    """Members keep Heat's order; rows of other names are ignored."""
    found = read(row('b'), row('other'), row('a'), names=('a', 'b'))

    assert [member.name for member in found] == ['a', 'b']


def test_complete_member_has_zone_and_time_and_no_reason():
    """A complete member has its zone and its time, and no reason of a failure."""
    (found,) = read(row('a'))

    assert found.zone == 'az1'
    assert found.created_at == datetime.datetime(2026, 11, 22, 20, tzinfo=datetime.UTC)
    assert (found.failed, found.reason, found.is_created, found.needs_zone) == (
        False, None, True, False,
    )  # fmt: skip


def test_member_whose_creation_failed_needs_a_zone():
    """A member whose creation failed has its cause, and may go to another zone."""
    (found,) = read(row('a', status='FAILED', reason='No valid host was found'))

    assert found.needs_zone
    assert found.reason == 'No valid host was found'


def test_member_whose_update_failed_keeps_its_zone():
    """A member whose update or check failed exists, so it keeps its zone."""
    found = [*read(row('a', 'UPDATE', 'FAILED')), *read(row('a', 'CHECK', 'FAILED'))]

    assert [(member.failed, member.needs_zone) for member in found] == [(True, False)] * 2


def test_member_without_row_is_complete_and_has_no_time():
    """A member of the template that the list does not have yet counts as complete."""
    (found,) = read(names=('old',))

    assert found.created_at is None
    assert not found.failed
    assert found.is_outdated
