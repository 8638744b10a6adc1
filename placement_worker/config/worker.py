"""[worker]: what is consumed, by how many processes, and what a request may ask for."""

import os
import socket

from oslo_config import cfg

from placement_worker.rpc import SLOW_TOPIC, TOPIC
from placement_worker.rpc.endpoints import MAX_NODES_PER_CLUSTER, MAX_REQUEST_BYTES

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
        'max_nodes_per_cluster',
        default=MAX_NODES_PER_CLUSTER,
        min=1,
        help='The largest size, in nodes, that a creation may lead a cluster to. Clusters that are larger already '
        'are still served. Set it to what the engine has.',
    ),
    cfg.IntOpt(
        'max_request_bytes',
        default=MAX_REQUEST_BYTES,
        min=1024,
        help='The largest request, in bytes of JSON; larger ones are refused.',
    ),
]
