"""[load_balancer]: how Octavia is driven."""

from oslo_config import cfg

OPTIONS = [
    cfg.BoolOpt(
        'batch_members',
        default=True,
        help='Whether members of a pool are changed together, in one update of the load balancer, where that is safe. '
        'Else each takes an update of its own.',
    ),
    cfg.FloatOpt(
        'poll_initial_s',
        default=0.5,
        min=0.05,
        help='Seconds between the first looks at a load balancer that changes.',
    ),
    cfg.FloatOpt(
        'poll_max_s',
        default=5,
        min=0.05,
        help='Seconds between looks at most; the waits grow to that, with jitter.',
    ),
    cfg.IntOpt(
        'max_attempts',
        default=10,
        min=1,
        help='How often a call is tried that Octavia does not answer as it should. All changes of a check take '
        "together at most the policy's lb_status_timeout.",
    ),
]
