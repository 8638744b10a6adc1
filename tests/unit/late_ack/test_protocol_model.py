"""A model of late acknowledgement, checked in every order of the steps of two processes.

A process that crashes starts again at once. The broker confirms a publication in a step of its own;
if a crash or a loss of the broker comes before, the message may have arrived or not. A poison
message may take any time to crash its process. Listeners recognize no request that they finished
before, which only saves work. A change of the protocol changes the model first.
"""

from collections import deque, namedtuple
from itertools import product

import pytest

TOPIC, ISOLATION, LOT = 'topic', 'isolation queue', 'parking lot'
LATE, EARLY = ('confirm', 'acknowledge'), ('acknowledge', 'confirm')  # after the reply is sent
MOVED, HANDLED = ('move', 'report'), ('crash', *LATE)  # steps of requests above and below the limit
MOVES_TO = {TOPIC: ISOLATION, ISOLATION: LOT}
POISON = {'poison': 'a'}
# `holder`: the process that has not settled the message.
# `deaths`: host, queue, request. `settled`: the requests whose callers have the reply or gave up.
Protocol = namedtuple('Protocol', 'poison isolated hosts order', defaults=('', '', 1, LATE))
Copy = namedtuple('Copy', 'request queue holder', defaults=(0,))
Run = namedtuple('Run', 'process queue request step', defaults=('begin',))
State = namedtuple('State', 'losses copies runs deaths settled')


def successors(state, protocol):
    for copy in state.copies:
        if copy.queue != LOT and not copy.holder:
            yield from deliveries(state, copy)
    for run in state.runs:
        yield from progress(state, run, protocol)
    if state.losses:
        for after in interrupted(state, {1, 2}):
            yield 'lose the broker', after._replace(losses=state.losses - 1)


def deliveries(state, copy):
    rest = list(state.copies)
    rest.remove(copy)
    if copy.queue == TOPIC:
        yield 'expire', state._replace(copies=tuple(rest), settled=state.settled | {copy.request})
    for process in (1, 2):
        held = any((other.queue, other.holder) == (ISOLATION, process) for other in state.copies)
        if not held or copy.queue == TOPIC:  # the isolation queue has a prefetch of 1
            key = (process, copy.queue, copy.request)
            new = [] if any(run[:3] == key for run in state.runs) else [Run(*key)]
            copies = (*rest, copy._replace(holder=process))
            yield 'deliver', state._replace(copies=copies, runs=(*state.runs, *new))


def progress(state, run, protocol):
    rest = tuple(other for other in state.runs if other != run)
    unsettled = tuple(c for c in state.copies if c != Copy(run.request, run.queue, run.process))
    if run.step == 'begin':
        for step in first_step(state, run, protocol):
            yield 'begin', state._replace(runs=(*rest, run._replace(step=step)))
    elif run.step == 'crash':
        alive = tuple(other for other in state.runs if other.process != run.process)
        died = {death(r, protocol) for r in {*state.runs} - {*alive} if r.step in HANDLED}
        for after in interrupted(state, {run.process}):
            yield 'crash', after._replace(runs=alive, deaths=state.deaths | died)
    elif run.step == 'move' and run.queue == TOPIC:
        copies = (*unsettled, Copy(run.request, ISOLATION))
        yield 'isolate', state._replace(copies=copies, runs=rest)  # settles, too
    elif run.step == 'move':
        copies = tuple({*state.copies, Copy(run.request, LOT)})
        yield 'park', state._replace(copies=copies, runs=(*rest, run._replace(step='report')))
    else:  # a parked request is reported and acknowledged in one step
        first, second = protocol.order
        runs = (*rest, run._replace(step=second)) if run.step == first else rest
        copies = state.copies if run.step == 'confirm' else unsettled
        settled = state.settled | {run.request} if run.step != 'acknowledge' else state.settled
        yield run.step, state._replace(runs=runs, copies=copies, settled=settled)


def first_step(state, run, protocol):
    """Yield the first step of a request, or nothing while it waits."""
    others = [o for o in state.runs if o.process == run.process and o.step != 'begin']
    is_moving = any(other.step in MOVED for other in others)  # under a lock
    handled = [other for other in others if other.step in HANDLED]
    isolated = [other for other in handled if other.queue == ISOLATION]
    if run.queue == ISOLATION and any(other.queue == ISOLATION for other in others):
        return  # the isolation queue has one thread
    if death(run, protocol) in state.deaths:  # the lowest `max_deliveries` is 1
        yield from () if is_moving else ('move',)
    elif not (is_moving or handled if run.queue == ISOLATION else isolated):  # it runs alone
        yield 'crash' if run.request in protocol.poison else protocol.order[0]


def death(run, protocol):
    return (run.process if protocol.hosts > 1 else 0, run.queue, run.request)


def interrupted(state, processes):
    """Yield the states after processes lose their connections, before their next steps."""
    flying = [r for r in state.runs if r.process in processes and r.step in ('move', 'confirm')]
    copies = [c._replace(holder=0) if c.holder in processes else c for c in state.copies]
    runs = tuple(run for run in state.runs if run not in flying or run.step != 'move')
    for arrived in product(*((None, run) for run in flying)):
        moved = [Copy(r.request, MOVES_TO[r.queue]) for r in arrived if r and r.step == 'move']
        settled = state.settled | {r.request for r in arrived if r and r.step == 'confirm'}
        yield state._replace(copies=(*copies, *moved), runs=runs, settled=settled)


def ordered(state):
    """Return one of the states that differ in the order of their parts alone."""
    return state._replace(copies=tuple(sorted(state.copies)), runs=tuple(sorted(state.runs)))


def first_harm(losses=0, **protocol):
    """Return the first harm in breadth first order and the steps to it, or None."""
    protocol = Protocol(**protocol)
    copies = tuple(Copy(name, ISOLATION if name in protocol.isolated else TOPIC) for name in 'ab')
    start = State(losses, copies, (), frozenset(), frozenset())
    waiting, seen = deque([(start, ())]), set()
    while waiting:
        state, steps = waiting.popleft()
        after = [(step, ordered(s)) for step, s in successors(state, protocol)]
        queued = {copy.request for copy in state.copies if copy.queue != LOT}
        if {c.request for c in state.copies if c.queue == LOT} - {*protocol.poison}:
            return 'an innocent request is parked', steps
        if {'a', 'b'} - state.settled - queued - {run.request for run in state.runs}:
            return 'a request or its reply is lost', steps
        if queued and not after:
            return 'a request is stuck', steps
        waiting.extend((s, (*steps, step)) for step, s in after if s not in seen)
        seen.update(s for _, s in after)
    return None


@pytest.mark.parametrize(
    'scenario', [{}, {'losses': 1}, POISON, {**POISON, 'hosts': 2}, {**POISON, 'isolated': 'b'}]
)
def test_protocol_loses_no_request_and_no_reply_and_parks_no_innocent_request(scenario):
    """Neither a loss of the broker nor a request that crashes its processes does harm."""
    assert first_harm(**scenario) is None


@pytest.mark.long
def test_loss_of_the_broker_beside_a_poison_message_does_no_harm():
    """A protocol that counts redeliveries instead of deaths parks the innocent request here."""
    assert first_harm(poison='a', losses=1) is None


def test_acknowledgement_before_the_reply_loses_a_request():
    """The model finds the fault that late acknowledgement prevents."""
    harm, steps = first_harm(poison='a', order=EARLY)

    assert (harm, steps[-2:]) == ('a request or its reply is lost', ('acknowledge', 'crash'))
