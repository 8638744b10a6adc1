"""The queues of a worker: their names, threads and delivery limits, and their declaration."""

import logging
from dataclasses import dataclass

import tenacity
from oslo_config import cfg

from placement_worker import errors
from placement_worker.client.transport import load_transport_url
from placement_worker.contract.rpc import ISOLATION_SUFFIX, PARKING_SUFFIX
from placement_worker.late_ack.parking import ISOLATED_REDELIVERIES, DeliveryLimit
from placement_worker.messaging import topology

BROKER_WAIT_MAX_S = 10
LONG_S = 60
"""The timeout of a client for a request that waits for no load balancer."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue that each process of the worker consumes, with its number of threads per process.

    `long_s`: the time in flight from which on the log names a request.
    """

    topic: str
    threads: int
    delivery_limit: DeliveryLimit
    long_s: float


def consumed(conf: cfg.ConfigOpts) -> list[Queue]:
    """Return the queues that each process of the worker consumes."""
    worker = conf.worker
    isolating = DeliveryLimit(worker.max_deliveries, isolation_queue(conf), parks=False)
    parking = DeliveryLimit(ISOLATED_REDELIVERIES, parking_lot(conf), parks=True)
    return [
        Queue(worker.topic, worker.threads, isolating, min(LONG_S, worker.engine_timeout_s)),
        Queue(worker.slow_topic, worker.slow_threads, isolating, worker.engine_timeout_s),
        Queue(isolation_queue(conf), 1, parking, worker.engine_timeout_s),
    ]


def isolation_queue(conf: cfg.ConfigOpts) -> str:
    """Return the name of the isolation queue."""
    return str(conf.worker.topic) + ISOLATION_SUFFIX


def parking_lot(conf: cfg.ConfigOpts) -> str:
    """Return the name of the parking lot."""
    return str(conf.worker.topic) + PARKING_SUFFIX


def names(conf: cfg.ConfigOpts) -> list[str]:
    """Return the queues of a worker: per topic a shared one and its own, and the parking lot."""
    topics = [queue.topic for queue in consumed(conf)]
    return [
        *(f'{topic}{suffix}' for topic in topics for suffix in ('', f'.{conf.worker.host}')),
        parking_lot(conf),
    ]


def declare(conf: cfg.ConfigOpts) -> None:
    """Declare the queues; wait for a broker that cannot be reached yet.

    :raises QueueMismatch: a queue exists with other arguments; the text has the command that
        repairs it.
    """
    target = load_transport_url(conf)
    retry = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(errors.BrokerUnreachable),
        wait=tenacity.wait_exponential(max=BROKER_WAIT_MAX_S),
        before_sleep=_log_retry,
    )
    retry(topology.declare, conf, target, names(conf))
    own_queue = f'{conf.worker.topic}.{conf.worker.host}'
    # No process of this worker consumes yet, so a consumer belongs to another worker.
    if retry(topology.consumer_count, conf, target, own_queue):
        LOG.warning(
            'Queue %s already has a consumer; set a unique [worker] host on each worker', own_queue
        )


def _log_retry(state: tenacity.RetryCallState) -> None:
    if state.outcome and state.next_action:
        LOG.warning('%s; trying again in %g s', state.outcome.exception(), state.next_action.sleep)
