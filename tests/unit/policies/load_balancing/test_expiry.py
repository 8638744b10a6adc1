"""Tests for requests that expire during an operation."""

import pytest

from tests.unit.policies.load_balancing.operations import (
    OPERATIONS,
    Attach,
    AttachToExisting,
    calls_of,
)


@pytest.mark.parametrize('operation', OPERATIONS)
def test_operation_after_expiry_only_undoes_changes(operation):
    """An operation whose request expires before any of its calls makes no change except to undo."""
    for step in range(calls_of(operation)):
        one = operation()
        one.expires_at = one.lab.clock.after(1000)
        seen = []

        def expire(call, one=one, seen=seen, step=step):
            if len(seen) == step:
                one.lab.clock.now += 1001
            seen.append(call)
            return call.act()

        one.lab.around = expire
        status, reason, reply = one.run()

        late = [call for call in seen[step + 1 :] if call.writes]
        if issubclass(operation, Attach | AttachToExisting):
            assert {call.name for call in late} <= {'delete', 'delete_member'}
            assert status == 'ERROR'
            one.is_clean(reply)
        else:
            assert not late, f'{late[0]} after call {step}'
            assert (
                not any(node.get('status') for node in reply['nodes'].values())
                or reason != 'Request expired'
            )


@pytest.mark.parametrize('operation', OPERATIONS)
def test_expired_request_is_refused_without_a_call(operation):
    """A request that has expired is refused without a call to Octavia."""
    one = operation()
    one.expires_at = one.lab.clock.after(0)

    status, reason, reply = one.run()

    assert (status, reason) == ('ERROR', 'Request expired')
    assert (one.lab.calls, reply['nodes']) == ([], {})
