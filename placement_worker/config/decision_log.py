"""[decision_log]: records of decisions for a replay."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        'file',
        help='File to which each decision is appended as a line of JSON: the request, the '
        'responses of the cloud, the version and the reply. `placement-policy replay` '
        'repeats the decisions. Credentials are left out. All processes write to it, and '
        'logrotate may move it. None by default.',
    ),
]
