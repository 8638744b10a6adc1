"""[worker]: topics, processes, timeouts, probes, and limits of requests."""

import os
import socket

from oslo_config import cfg, types

from placement_worker.contract.rpc import SLOW_TOPIC, TOPIC, Limits

LIMITS = Limits()
OPTIONS = [
    cfg.StrOpt(
        'topic', default=TOPIC, help='Topic of requests that do not wait for load balancers.'
    ),
    cfg.StrOpt(
        'slow_topic',
        default=SLOW_TOPIC,
        help='Topic of requests that may wait for a load balancer. They have threads of their own '
        'and do not delay other requests.',
    ),
    cfg.HostAddressOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<host name>',
        help='Unique name of this worker, to which engines can address a request. Its queue stays '
        'on the broker, so do not choose a name that changes with every container.',
    ),
    cfg.IntOpt(
        'workers',
        default=min(4, os.cpu_count() or 1),
        sample_default='<number of CPUs, at most 4>',
        min=1,
        help='Number of processes.',
    ),
    cfg.IntOpt(
        'threads',
        default=8,
        min=1,
        help='Number of requests of topic that a process handles in parallel and prefetches from '
        'the broker.',
    ),
    cfg.IntOpt(
        'slow_threads',
        default=16,
        min=1,
        help='Number of requests of slow_topic that a process handles in parallel and prefetches. '
        'Most of the time they wait for load balancers.',
    ),
    cfg.IntOpt(
        'max_deliveries',
        default=3,
        min=1,
        max=50,
        help='Number of redeliveries after which a request moves to the isolation queue. A request '
        'is redelivered if its worker crashes or is stopped before it replies. If it is '
        'redelivered repeatedly in isolation too, it moves to the parking lot: see '
        'placement-policy parked.',
    ),
    cfg.IntOpt(
        'engine_timeout_s',
        default=600,
        min=1,
        help='Time in seconds that engines wait for a reply. The worker cannot read it from them: '
        'repeat their setting here, so that the worker can check the order of the timeouts when '
        'it starts.',
    ),
    cfg.IntOpt(
        'consumer_timeout_s',
        default=1800,
        min=1,
        help='The consumer_timeout of RabbitMQ in seconds: the time after which it redelivers a '
        'request that is not acknowledged. The worker cannot read it from RabbitMQ: repeat the '
        'setting here.',
    ),
    cfg.IntOpt(
        'liveness_poll_age_s',
        default=30,
        min=8,
        help='Greatest age in seconds of the last poll for requests of each process of a live '
        'worker. A process polls every three seconds, even while all its threads are busy.',
    ),
    cfg.IntOpt(
        'liveness_reconnect_age_s',
        default=0,
        min=0,
        help='Greatest age in seconds of the last poll while the process has no broker '
        'connection; each attempt to reconnect may take ten seconds. 0: no limit, so that an '
        'outage of the broker does not restart every worker.',
    ),
    cfg.IntOpt(
        'readiness_disconnected_s',
        default=30,
        min=1,
        help='Time in seconds that a process of a ready worker may be without a broker connection, '
        'and that the process in the place of a dead one may take to serve.',
    ),
    cfg.IntOpt(
        'liveness_request_age_s',
        default=900,
        min=1,
        help='Greatest age in seconds of a request in flight in a live worker; requests that '
        'wait for a thread do not count. It must exceed engine_timeout_s.',
    ),
    cfg.FloatOpt(
        'reply_timeout_s',
        default=10,
        min=0.1,
        help='Time in seconds for which a reply is retried if its destination rejects it or is '
        'missing, but never beyond the expiry of the request. Then the reply is dropped and '
        'logged, and the request is acknowledged. An engine that loses its RabbitMQ node '
        'reconnects within 2 to 9 s. At most half of the threads wait this way; further replies '
        'are retried in the background. While the broker is unreachable, replies wait for '
        'engine_timeout_s, or for liveness_request_age_s less engine_timeout_s if that is shorter; '
        'then their requests are delivered again.',
    ),
    cfg.ListOpt(
        'reply_to_allowed',
        default=[],
        item_type=types.String(regex=r'^[A-Za-z0-9_.:*?-]+(/[A-Za-z0-9_.:*?-]+)?$'),
        help='Allowed destinations of the reply to a cast (reply_to), as patterns EXCHANGE or '
        'EXCHANGE/TOPIC, e.g. engine or engine/replies. An asterisk stands for any characters, '
        'and a question mark for one. Empty: all destinations but those that are always refused. '
        'Always refused are the default exchange, exchanges that begin with amq., '
        'control_exchange, the notification topics, the isolation queue and the parking lot.',
    ),
    cfg.StrOpt(
        'liveness_file',
        help='File that the worker writes every few seconds for probes of containers; '
        'placement-worker-status liveness and readiness read it. Its folder must be writable for '
        'the worker. None by default.',
    ),
    cfg.IntOpt(
        'max_nodes_per_cluster',
        default=LIMITS.nodes_per_cluster,
        min=1,
        mutable=True,
        help='The largest size, in nodes, to which a check may grow a cluster. Larger clusters '
        'are still served. Set it to the limit of the engine.',
    ),
    cfg.IntOpt(
        'max_request_bytes',
        default=LIMITS.request_bytes,
        min=1024,
        mutable=True,
        help='The largest request in bytes of JSON; larger ones are refused.',
    ),
]
