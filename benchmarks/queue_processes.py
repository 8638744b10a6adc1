"""How long the processes of RabbitMQ run that handle the messages of one queue.

A quorum queue is one Erlang process on each of its nodes, which runs on one core at a time; its
leader does most of the work. The write-ahead log is one process per node for all queues of the
node. Erlang's tracing says when a process starts and stops running.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from string import Template
from threading import Event, Thread

from benchmarks.processes import written_kib
from tests.broker import Broker

NODE = Template("""
{ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"$topic">>)),
{Leader, Node} = amqqueue:get_pid(Queue),
Node.""")
BUSY = Template("""
{ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"$topic">>)),
{Leader, Node} = amqqueue:get_pid(Queue),
Traced = [whereis(Name) || Name <- [Leader, ra_log_wal]],
Begin = os:system_time(microsecond),
[erlang:trace(Pid, true, [running, monotonic_timestamp]) || Pid <- Traced],
erlang:send_after($milliseconds, self(), enough),
Add = fun Loop(Since, Busy) ->
    receive
        {trace_ts, Pid, in, _, At} -> Loop(Since#{Pid => At}, Busy);
        {trace_ts, Pid, out, _, At} ->
            Ran = At - maps:get(Pid, Since, At),
            Loop(Since, maps:update_with(Pid, fun(Sum) -> Sum + Ran end, Ran, Busy));
        enough -> Busy
    end
end,
Busy = Add(#{}, #{}),
End = os:system_time(microsecond),
[erlang:trace(Pid, false, [running]) || Pid <- Traced],
[Begin, End | [maps:get(Pid, Busy, 0) div 1000 || Pid <- Traced]].""")
"""Return the begin and the end, and for how long leader and log ran, in microseconds."""


@dataclass(frozen=True)
class Busy:
    """The rate of calls; per call, how long leader and log ran and what a node of them wrote."""

    rate: float
    leader_s: float
    log_s: float
    written_kib: float


def busy(
    nodes: list[Broker], topic: str, call: Callable[[], object], callers: int, seconds: float
) -> Busy:
    """Measure the queue of a topic while threads call."""
    found = nodes[0].control('eval', NODE.substitute(topic=topic)).strip().strip("'")
    (leader,) = (node for node in nodes if node.name == found)
    program = BUSY.substitute(topic=topic, milliseconds=round(seconds * 1000))
    with _ended_calls(call, callers) as ended:
        asked_at, before = time.time(), written_kib(leader.pid)
        figures = json.loads(leader.control('eval', program))
        written, answered_at = written_kib(leader.pid) - before, time.time()
    began, end, leader_s, log_s = (figure / 1e6 for figure in figures)
    count = _between(began, end, ended)
    return Busy(
        count / (end - began),
        leader_s / count,
        log_s / count,
        written / _between(asked_at, answered_at, ended),
    )


def _between(begin: float, end: float, times: list[float]) -> int:
    return sum(begin <= at <= end for at in times)


@contextmanager
def _ended_calls(call: Callable[[], object], callers: int) -> Iterator[list[float]]:
    """Call from several threads during a block; the list has the time of each end."""
    ended: list[float] = []
    enough = Event()

    def calls() -> None:
        while not enough.is_set():
            call()
            ended.append(time.time())

    threads = [Thread(target=calls) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield ended
    finally:
        enough.set()
        for thread in threads:
            thread.join()
