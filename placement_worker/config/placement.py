"""[placement]: what an operator decides for the placement of all clusters."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        'cordon_file',
        help='File with the cordons: a YAML list of zones and regions in which no node is created '
        'until a time. The worker reads it again when it changes. `placement-policy cordon` '
        'edits it. None by default.',
    ),
]
