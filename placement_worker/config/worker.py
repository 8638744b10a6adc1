"""[worker]: what is consumed, by how many processes, and what a request may ask for."""

import os
import socket

from oslo_config import cfg, types

from placement_worker.contract.limits import Limits
from placement_worker.contract.topics import SLOW_TOPIC, TOPIC

LIMITS = Limits()
OPTIONS = [
    cfg.StrOpt('topic', default=TOPIC, help='Topic of the requests that are decided at once.'),
    cfg.StrOpt(
        'slow_topic',
        default=SLOW_TOPIC,
        help='Topic of the requests that may wait for a load balancer. It has threads of its own, so that a '
        'decision never waits behind them.',
    ),
    cfg.HostAddressOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<host name>',
        help='Name under which this worker alone can be addressed. Its queue stays on the broker: do not let it '
        'change with every container.',
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
        help='Number of requests of topic that a process works on at once, and takes from the broker at a time.',
    ),
    cfg.IntOpt(
        'slow_threads',
        default=16,
        min=1,
        help='The same for slow_topic, whose requests wait for load balancers most of the time.',
    ),
    cfg.IntOpt(
        'max_deliveries',
        default=3,
        min=1,
        max=50,
        help='How often a request may come back that no worker has finished, because each one died or was stopped. '
        'After that it is handled alone, and then parked: see placement-policy parked.',
    ),
    cfg.IntOpt(
        'engine_timeout_s',
        default=600,
        min=1,
        help='How long engines wait for a reply, in seconds. Nothing is read from them: say here what they are '
        'set to, so that the order of the time-outs can be checked when the worker starts.',
    ),
    cfg.IntOpt(
        'consumer_timeout_s',
        default=1800,
        min=1,
        help="RabbitMQ's consumer_timeout, in seconds: how long it waits for an acknowledgement before it takes the "
        'request away. Nothing is read from it: say here what it is set to.',
    ),
    cfg.IntOpt(
        'liveness_poll_age_s',
        default=30,
        min=8,
        help='How long ago, in seconds, each process may have looked for requests and still counts as alive. A '
        'process does that every three seconds, also while all its threads are busy.',
    ),
    cfg.IntOpt(
        'liveness_reconnect_age_s',
        default=0,
        min=0,
        help='The same, in seconds, while the process has no broker connection, when each try to reconnect may take '
        'ten seconds; 0: any time. An outage of the broker must not restart every worker.',
    ),
    cfg.IntOpt(
        'readiness_disconnected_s',
        default=30,
        min=1,
        help='How long, in seconds, a process may be without a broker connection in a worker that counts as ready.',
    ),
    cfg.IntOpt(
        'liveness_request_age_s',
        default=900,
        min=1,
        help='How long, in seconds, a request may be in work in a worker that counts as alive; requests that wait do '
        'not count. It has to be more than engine_timeout_s.',
    ),
    cfg.FloatOpt(
        'reply_timeout_s',
        default=10,
        min=0.1,
        help='How long, in seconds, a reply is retried if its destination rejects it or is missing; never longer than '
        'until the request expires. After that the reply is dropped, which the log reports, and the request is '
        'acknowledged. An engine that loses its node of RabbitMQ is back within 2 to 9 s. At most half of the threads '
        'wait this way; further replies have one attempt. A broker that is away is another matter: replies wait for '
        'it for engine_timeout_s, or for what engine_timeout_s leaves of liveness_request_age_s if that is less, and '
        'then their requests are delivered again.',
    ),
    cfg.ListOpt(
        'reply_to_allowed',
        default=[],
        item_type=types.String(regex=r'^[A-Za-z0-9_.:*?-]+(/[A-Za-z0-9_.:*?-]+)?$'),
        help='Where reply_to of a cast may send the reply, as patterns EXCHANGE or EXCHANGE/TOPIC, e.g. engine or '
        'engine/replies. An asterisk stands for any characters, and a question mark for one. Empty: all exchanges and '
        'topics but those that are always refused. Those are the default exchange, exchanges that begin with amq., '
        'control_exchange, the notification topics, and the queues of requests that crash workers.',
    ),
    cfg.StrOpt(
        'liveness_file',
        help='A file that is written anew every few seconds, for probes of containers: placement-worker-status '
        'liveness and readiness read it. Its folder has to be writable for the worker. None by default.',
    ),
    cfg.IntOpt(
        'max_nodes_per_cluster',
        default=LIMITS.nodes_per_cluster,
        min=1,
        mutable=True,
        help='The largest size, in nodes, that a creation may lead a cluster to. Clusters that are larger already '
        'are still served. Set it to what the engine has.',
    ),
    cfg.IntOpt(
        'max_request_bytes',
        default=LIMITS.request_bytes,
        min=1024,
        mutable=True,
        help='The largest request, in bytes of JSON; larger ones are refused.',
    ),
]
