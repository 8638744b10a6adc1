"""[metrics]: where Prometheus finds the worker."""

from oslo_config import cfg

OPTIONS = [
    cfg.PortOpt(
        'port',
        min=1,
        help='Port of the metrics of all processes, for Prometheus, over HTTP. There are none unless it is set.',
    ),
    cfg.HostAddressOpt(
        'address',
        default='127.0.0.1',
        help='Address that the port is open on. Whoever reaches it can read the metrics, request ids among them.',
    ),
    cfg.StrOpt(
        'folder',
        help='A folder of this worker alone where its processes write what they count; one in memory is best, e.g. '
        '/run/placement-worker/metrics. It is made if it is not there, and emptied at each start of what an earlier '
        'worker left. A temporary folder by default, which a worker that is killed leaves behind.',
    ),
]
