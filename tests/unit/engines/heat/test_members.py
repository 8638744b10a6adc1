"""The members of a group, read from the rows of Heat's API."""

import datetime

import pytest

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
    assert (found.failed, found.reason, found.needs_zone) == (False, None, False)


def test_member_whose_creation_failed_needs_a_zone():
    """A member whose creation failed has its cause, and may go to another zone."""
    (found,) = read(row('a', status='FAILED', reason='No valid host was found'))

    assert found.needs_zone
    assert found.reason == 'No valid host was found'


def test_member_whose_check_failed_needs_a_zone():
    """Heat replaces a member that a check found unhealthy, so it may go to another zone."""
    (found,) = read(row('a', 'CHECK', 'FAILED', 'lost'))

    assert found.needs_zone
    assert found.reason == 'lost'


@pytest.mark.parametrize('action', ['UPDATE', 'SUSPEND', 'RESUME', 'DELETE', 'INIT'])
def test_member_of_another_failed_action_keeps_its_zone(action):
    """A member that may exist keeps its zone, since another one would replace its server."""
    (found,) = read(row('a', action, 'FAILED'))

    assert (found.failed, found.needs_zone) == (True, False)


def test_checked_member_keeps_its_zone():
    """A member that passed a check is not created again."""
    (found,) = read(row('a', 'CHECK', 'COMPLETE'))

    assert not found.needs_zone


def test_member_without_row_is_complete_and_has_no_time():
    """A member of the template that the list does not have yet counts as complete."""
    (found,) = read(names=('old',))

    assert found.created_at is None
    assert not found.failed
    assert found.is_outdated
