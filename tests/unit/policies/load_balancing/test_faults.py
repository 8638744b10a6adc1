"""Operations under each error of Octavia, on vanished load balancers, and after expiry."""

from dataclasses import dataclass

import pytest

from placement_worker.cloud.ports import ApiError
from tests.unit.policies.load_balancing.operations import (
    TIMEOUT_S,
    calls_of,
    disturbed_at,
    is_ok,
    prepared,
    reason_of,
)

# Thousands of operations, most of whose branches other tests reach, too.
pytestmark = pytest.mark.no_cover
ALWAYS = 10**6
IMMUTABLE = 'Load Balancer x is immutable and cannot be updated.'


@dataclass(frozen=True)
class Answer:
    """An injected response of Octavia.

    `done`: after the call had its effect; `times`: in a row, to calls of the same kind; `to_all`:
    to any calls; `breaks`: its load balancers are in ERROR then.
    """

    name: str
    status: int | None
    message: str = 'Octavia is unwell'
    retry_after_s: float | None = None
    done: bool = False
    times: int = 1
    to_all: bool = False
    breaks: bool = False


ANSWERS = [
    Answer('immutable once', 409, IMMUTABLE),
    Answer('immutable for ever', 409, IMMUTABLE, times=ALWAYS),
    Answer('immutable in ERROR', 409, IMMUTABLE, times=ALWAYS, breaks=True),
    Answer('duplicate member', 409, 'Another member is using ip 10.0.0.1 on protocol_port 80'),
    Answer('port in use', 409, 'Another Listener is already using protocol_port 80'),
    Answer('monitor exists', 409, 'This pool already has a health monitor', times=ALWAYS),
    Answer('quota', 403, 'Quota has been met for resources: member'),
    Answer('forbidden', 403, 'Policy does not allow this request to be performed.', times=ALWAYS),
    Answer('unauthorized', 401, 'The request you have made requires authentication.', times=ALWAYS),
    Answer('too many', 429, retry_after_s=7),
    Answer('too many, for a day', 429, retry_after_s=86400),
    Answer('too many, for ever', 429, retry_after_s=1, times=ALWAYS),
    Answer('busy', 503, times=3),
    Answer('busy for ever', 503, times=ALWAYS),
    Answer('internal error', 500),
    Answer('internal error, but done', 500, done=True),
    Answer('internal error for ever', 500, times=ALWAYS),
    Answer('bad gateway', 502, done=True),
    Answer('gateway time-out', 504),
    Answer('gateway timeout, but done', 504, done=True),
    Answer('a status of a proxy of its own', 520),
    Answer('a status of a proxy of its own, but done', 520, done=True),
    Answer('reset', None, 'The connection broke'),
    Answer('reset, but done', None, 'The connection broke', done=True),
    Answer('reset, done, twice', None, 'The connection broke', done=True, times=2),
    Answer('an outage', 503, times=8, to_all=True),
    Answer('an outage without end', 503, times=ALWAYS, to_all=True),
    Answer('a lost network', None, times=8, to_all=True),
    Answer('a network lost for ever', None, times=ALWAYS, to_all=True),
    Answer('no answer for ever', None, 'did not respond in time', times=ALWAYS),
    Answer('not supported', 501, 'The provider does not support the option'),
    Answer('not supported at all', 501, 'The provider does not support the option', times=ALWAYS),
    Answer('invalid', 400, 'Validation failure'),
    Answer('invalid for ever', 400, 'Validation failure', times=ALWAYS),
]


class Faulty:
    def __init__(self, lab, first, answer):
        self.lab, self.first, self.answer = lab, first, answer
        self.seen = 0
        self.left = answer.times
        self.hit = None

    def __call__(self, call):
        self.seen += 1
        if self.seen <= self.first or not self.left:
            return call.act()
        if self.hit is None:
            self.hit = str(call), call.arguments[:1]
        elif not self.answer.to_all and (str(call), call.arguments[:1]) != self.hit:
            return call.act()
        self.left -= 1
        if self.answer.breaks:
            self._break()
        if self.answer.done:
            call.act()
        raise ApiError(self.answer.message, self.answer.status, self.answer.retry_after_s)

    def _break(self):
        with self.lab.store.changing() as state:
            for lb in state.get('R1', {}).get('loadbalancer', {}).values():
                lb['provisioning_status'] = 'ERROR'
            state.get('R1', {})['pending'] = {}


# The status of an operation if another client deletes all load balancers at any of its calls: a
# deleted pool has no members, and a load balancer of the policy itself is created again.
OPERATIONS = {
    ('attach_first', 'full'): 'OK',
    ('attach_first', 'plain'): 'OK',
    ('attach_second', 'full-preexisting'): 'ERROR',
    ('detach_first', 'full'): 'OK',
    ('detach_second', 'plain-preexisting'): 'OK',
    ('scale_in', 'full'): 'OK',
    ('scale_in', 'plain'): 'OK',
    ('scale_in', 'full-preexisting'): 'OK',
    ('scale_out', 'full'): 'ERROR',
    ('scale_out', 'plain'): 'ERROR',
    ('scale_out', 'full-preexisting'): 'ERROR',
    ('recover_recreated', 'full'): 'ERROR',
}
operations = pytest.mark.parametrize(('name', 'provider'), OPERATIONS)


@operations
@pytest.mark.parametrize('answer', ANSWERS, ids=lambda answer: answer.name)
def test_operation_with_a_fault_is_complete_or_undone_with_the_cause(name, provider, answer):
    """An operation that meets a fault completes, or leaves nothing and names the cause."""
    calls = calls_of(name, provider)
    for step in range(len(calls)):
        scenario = prepared(name, provider)
        began, before = scenario.lab.clock(), scenario.two.pools()
        scenario.lab.around = Faulty(scenario.lab, step, answer)

        reply = scenario.send()

        took_s = scenario.lab.clock() - began
        with disturbed_at(step, calls, reply):
            # Each policy has its own time, and as much again to undo its changes.
            assert took_s <= 2 * TIMEOUT_S * len(reply.get('decisions', [None]))
            if is_ok(reply):
                scenario.is_right(reply)
            else:
                reported = f'{reason_of(reply)} {failures(reply)}'
                assert answer.message in reported or 'is in ERROR' in reported
                check_failed(scenario, answer, reply, before)


def failures(reply):
    """Return the cause of each node that a policy could not handle, by id."""
    return {
        node_id: cause
        for decision in reply.get('decisions', ())
        for node_id, cause in decision['details'].get('failed', {}).items()
    }


def check_failed(scenario, answer, reply, before):
    """Check that a failure left nothing, or that the reply names what is left."""
    if 'could not be removed' in reason_of(reply):
        assert answer.times == ALWAYS
    elif 'attach' in scenario.parts:
        assert (reply['policy']['data'], reply['cluster'], reply['nodes']) == ({}, None, {})
        assert scenario.two.pools() == before
        assert scenario.two.is_right()
    elif 'detach' in scenario.parts:
        two, name = scenario.two, scenario.parts['detach']
        assert reply['policy']['data'] == two.policies[name]['data']
        assert two.foreign.items() <= two.pools()[443].items()
    else:
        check_nodes(scenario, reply)


def check_nodes(scenario, reply):
    """Check that failed nodes have a warning, and others the members that their data record."""
    failed = failures(reply)
    marked = {name for name, patch in reply['nodes'].items() if patch.get('status') == 'WARNING'}
    assert marked == set(failed)
    scenario.two.stored(reply)
    pools = scenario.two.pools()
    ids = scenario.two.member_ids()
    for node in scenario.two.members:
        name, data = node['id'], node['data']
        recorded = data.get('lb_member'), data.get('lb_members', {}).get('b')
        if name not in failed:
            assert recorded == (ids.get((80, name)), ids.get((443, name)))
            assert 'recovery' not in data
        if name not in (*scenario.parts.get('leaving', ()), *failed, 'n5', 'n6'):
            assert name in pools[80].keys() & pools[443].keys()


@pytest.mark.parametrize(
    ('name', 'provider', 'status'),
    [(*operation, status) for operation, status in OPERATIONS.items()],
)
def test_operation_on_a_deleted_load_balancer_recreates_it_or_names_it(name, provider, status):
    """A load balancer that another client deletes at any step is recreated or named in the
    reason.
    """
    calls = calls_of(name, provider)
    for step in range(len(calls)):
        scenario = prepared(name, provider)
        lab = scenario.lab

        def vanish(call, lab=lab, step=step):
            if len(lab.calls) == step + 1:
                lab.store.__init__()
            return call.act()

        lab.around = vanish
        reply = scenario.send()

        with disturbed_at(step, calls, reply):
            assert is_ok(reply) == (status == 'OK')
            if status == 'ERROR':
                reported = f'{reason_of(reply)} {reply}'
                words = ('does not exist any more', 'not found', 'has no', 'was deleted')
                assert any(text in reported for text in words)
            if lab.is_empty():
                continue
            # The load balancer vanished before the last lookup of an attachment.
            assert name == 'attach_first'
            scenario.two.stored(reply)
            assert set(scenario.two.pools()[80]) == {'n1', 'n2', 'n3', 'n4'}


@operations
def test_operation_after_expiry_only_undoes_changes(name, provider):
    """An operation whose request expires before any of its calls makes no change except to undo."""
    calls = calls_of(name, provider)
    for step in range(len(calls)):
        scenario = prepared(name, provider, left_s=1000)
        lab, before = scenario.lab, scenario.two.pools()

        def expire(call, lab=lab, step=step):
            if len(lab.calls) == step + 1:
                lab.clock.now += 1001
            return call.act()

        lab.around = expire
        reply = scenario.send()

        late = {call.name for call in lab.calls[step + 1 :] if call.writes}
        with disturbed_at(step, calls, reply):
            if 'attach' in scenario.parts:
                assert late <= {'delete', 'delete_member'}
                assert not is_ok(reply)
                assert scenario.two.pools() == before
            else:
                assert not late
                marked = any(patch.get('status') for patch in reply['nodes'].values())
                assert not marked or reason_of(reply) != 'Request expired'
