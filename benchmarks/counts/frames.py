"""AMQP frames of a call, on the client's and on the worker's connection."""

import contextlib

from benchmarks import servers
from benchmarks.clusters import shrinking
from benchmarks.counts.amqp_proxy import Proxy
from benchmarks.counts.count import Count
from placement_worker.client.rpc_client import PolicyClient
from tests.broker import Broker

SIDES = ('client', 'worker')
CALLS = 40
NODES = 200
BYTES_TOLERANCE = 0.02  # numbers in the reply have more or fewer digits
OPENED = ('channel', 'connection')
ROUNDED = {('client', 'basic.ack'), *((side, what) for side in SIDES for what in OPENED)}
"""Frames that depend on time in a part of the calls, rounded to whole ones per call.

A worker opens another connection for a reply if the reply before it is not confirmed yet; a client
acknowledges several replies at once unless they arrive slowly.
"""


def counted() -> list[Count]:
    """Count the frames per call by name and side, and the bytes on the wire."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(contextlib.closing(Broker())).start()
        sides = {
            side: stack.enter_context(contextlib.closing(Proxy(broker.port))) for side in SIDES
        }
        worker = stack.enter_context(servers.worker(sides['worker'].url))
        client = PolicyClient(sides['client'].url, topic=worker.topic)
        stack.enter_context(contextlib.closing(client))
        asked = shrinking(NODES)
        client.policy_check(asked)  # connect
        for proxy in sides.values():
            proxy.taken()
        for _ in range(CALLS):
            client.policy_check(asked)
        taken = {side: proxy.taken() for side, proxy in sides.items()}
    return [
        Count(
            f'{side}: {name} a call, {NODES} nodes',
            round(numbers[name] / CALLS, 0 if (side, name) in ROUNDED else 3),
            BYTES_TOLERANCE * (name == 'bytes'),
        )
        for side, numbers in taken.items()
        for name in sorted({*numbers, *OPENED})
    ]
