"""[metrics]: the endpoint for Prometheus."""

from oslo_config import cfg

OPTIONS = [
    cfg.PortOpt(
        'port',
        min=1,
        help='Port on which Prometheus scrapes the metrics of all processes over HTTP. Unset: '
        'no metrics.',
    ),
    cfg.HostAddressOpt(
        'address',
        default='127.0.0.1',
        help='Address of that port. Everyone who can connect to it can read the metrics.',
    ),
    cfg.StrOpt(
        'folder',
        help='Folder of this worker alone for the files in which its processes count; best one '
        'in memory, e.g. /run/placement-worker/metrics. It is created if it is missing, '
        'and each start deletes the files of an earlier worker. By default a temporary '
        'folder, which stays behind if the worker is killed.',
    ),
]
