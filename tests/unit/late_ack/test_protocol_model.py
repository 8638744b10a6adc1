"""A model of late acknowledgement, checked in every order of the steps of two workers.

A worker that crashes starts again at once. The broker confirms a publication in a step of its own;
if a crash or a loss of the broker comes before, the message may have arrived or not. Listeners
recognize no request that they finished before, which only saves work. A change of the protocol
changes the model first.
"""

from collections import deque, namedtuple
from itertools import product

import pytest

from placement_worker.late_ack.parking import ISOLATED_REDELIVERIES

TOPIC, ISOLATION, LOT = 'topic', 'isolation queue', 'parking lot'
NEXT = {TOPIC: ISOLATION, ISOLATION: LOT}
LIMITS = {TOPIC: 1, ISOLATION: ISOLATED_REDELIVERIES}  # 1 is the lowest `max_deliveries`
LATE, EARLY = ('confirm', 'acknowledge'), ('acknowledge', 'confirm')  # after the reply is sent


# `holder`: the worker that has not settled the message.
Copy = namedtuple('Copy', 'request queue count holder', defaults=(0, 0))
# `count`: that of the first delivery to this worker.
Run = namedtuple('Run', 'worker queue request count step', defaults=('begin',))
# `settled`: the requests whose callers have the reply or gave up.
State = namedtuple('State', 'losses copies runs settled')


def successors(state, poison, order):
    for copy in state.copies:
        if copy.queue != LOT and not copy.holder:
            yield from deliveries(state, copy)
    for run in state.runs:
        yield from progress(state, run, poison, order)
    if state.losses:
        for after in interrupted(state, {1, 2}):
            yield 'lose the broker', after._replace(losses=state.losses - 1)


def deliveries(state, copy):
    rest = list(state.copies)
    rest.remove(copy)
    if copy.queue == TOPIC:
        yield 'expire', state._replace(copies=tuple(rest), settled=state.settled | {copy.request})
    for worker in (1, 2):
        held = any((other.queue, other.holder) == (ISOLATION, worker) for other in state.copies)
        if not held or copy.queue == TOPIC:  # the isolation queue has a prefetch of 1
            key = (worker, copy.queue, copy.request)
            new = [] if any(run[:3] == key for run in state.runs) else [Run(*key, copy.count)]
            copies = (*rest, copy._replace(holder=worker))
            yield 'deliver', state._replace(copies=copies, runs=(*state.runs, *new))


def progress(state, run, poison, order):
    rest = tuple(other for other in state.runs if other != run)
    is_above = run.count > LIMITS[run.queue]
    others = [other for other in rest if other.worker == run.worker and other.step != 'begin']
    is_moving = any(other.count > LIMITS[other.queue] for other in others)  # under a lock
    has_thread = run.queue == TOPIC or all(other.queue == TOPIC for other in others)
    key = (run.request, run.queue, run.worker)
    unsettled = tuple(c for c in state.copies if (c.request, c.queue, c.holder) != key)
    steps = ['begin', *(['move'] if is_above else []), *order, None]
    following = steps[steps.index(run.step) + 1]
    runs = (*rest, run._replace(step=following)) if following else rest
    after = state._replace(runs=runs)
    waits = not has_thread or (is_moving and (is_above or run.queue == ISOLATION))
    if run.step == 'begin' and waits:
        return
    if run.step == 'begin' and run.request == poison and not is_above:
        alive = tuple(other for other in state.runs if other.worker != run.worker)
        for crashed in interrupted(state, {run.worker}):
            yield 'crash', crashed._replace(runs=alive)
    elif run.step == 'begin':
        yield 'begin', after
    elif run.step == 'move' and run.queue == TOPIC:
        copies = (*unsettled, Copy(run.request, ISOLATION))
        yield 'isolate', state._replace(copies=copies, runs=rest)  # settles, too
    elif run.step == 'move':
        yield 'park', after._replace(copies=tuple({*state.copies, Copy(run.request, LOT)}))
    elif run.step == 'confirm':
        yield 'confirm', after._replace(settled=state.settled | {run.request})
    else:
        yield 'acknowledge', after._replace(copies=unsettled)


def interrupted(state, workers):
    """Yield the states after workers lose their connections, before their next steps."""
    flying = [r for r in state.runs if r.worker in workers and r.step in ('move', 'confirm')]
    copies = [
        c._replace(count=c.count + 1, holder=0) if c.holder in workers else c for c in state.copies
    ]
    runs = tuple(run for run in state.runs if run not in flying or run.step == 'confirm')
    for arrived in product((False, True), repeat=len(flying)):
        kept = [run for run, has_arrived in zip(flying, arrived, strict=True) if has_arrived]
        moved = [Copy(run.request, NEXT[run.queue]) for run in kept if run.step == 'move']
        settled = state.settled | {run.request for run in kept if run.step == 'confirm'}
        yield State(state.losses, (*copies, *moved), runs, settled)


def canonical(state):
    # One of the states that differ in the order or the names of workers only.
    copies = [copy._replace(holder=-copy.holder % 3) for copy in state.copies]
    runs = [run._replace(worker=3 - run.worker) for run in state.runs]
    forms = [(sorted(state.copies), sorted(state.runs)), (sorted(copies), sorted(runs))]
    return state._replace(**dict(zip(('copies', 'runs'), map(tuple, min(forms)), strict=True)))


def first_harm(poison='', losses=0, order=LATE):
    """Return the first harm in breadth first order and the steps to it, or None."""
    start = State(losses, (Copy('a', TOPIC), Copy('b', TOPIC)), (), frozenset())
    waiting, seen = deque([(start, ())]), set()
    while waiting:
        state, steps = waiting.popleft()
        after = [(step, canonical(s)) for step, s in successors(state, poison, order)]
        queued = {copy.request for copy in state.copies if copy.queue != LOT}
        if {c.request for c in state.copies if c.queue == LOT} - {poison}:
            return 'an innocent request is parked', steps
        if {'a', 'b'} - state.settled - queued - {run.request for run in state.runs}:
            return 'a request or its reply is lost', steps
        if queued and not after:
            return 'a request is stuck', steps
        waiting.extend((s, (*steps, step)) for step, s in after if s not in seen)
        seen.update(s for _, s in after)
    return None


@pytest.mark.parametrize(('poison', 'losses'), [('', 0), ('', 1), ('a', 0)])
def test_protocol_loses_no_request_and_no_reply_and_parks_no_innocent_request(poison, losses):
    """Neither a loss of the broker nor a request that crashes workers does harm."""
    assert first_harm(poison, losses) is None


def test_loss_of_the_broker_in_isolation_parks_a_neighbour_of_a_poison_message():
    """Known harm: the loss counts for the neighbour, which then waits behind the poison message
    in the same worker, and crashes with it.
    """
    harm, steps = first_harm('a', losses=1)

    assert harm == 'an innocent request is parked'
    loss = steps.index('lose the broker')
    assert steps[:loss].count('isolate') == 2
    assert steps[loss + 1 :] == ('deliver', 'crash', 'deliver', 'begin', 'park')


def test_acknowledgement_before_the_reply_loses_a_request():
    """The model finds the fault that late acknowledgement prevents."""
    harm, steps = first_harm('a', order=EARLY)

    assert (harm, steps[-2:]) == ('a request or its reply is lost', ('acknowledge', 'crash'))
