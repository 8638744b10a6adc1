"""[decision_log]: what is kept of decisions, to look at them again."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        'file',
        help='A file to which each decision is appended as a line of JSON: the request, what the cloud answered, the '
        'version and the reply; `placement-policy replay` decides them again. Credentials are left out. All processes '
        'write to it, and logrotate may move it. None by default.',
    ),
]
