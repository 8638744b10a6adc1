"""[load_balancer]: updates of load balancers in Octavia."""

from oslo_config import cfg

OPTIONS = [
    cfg.BoolOpt(
        'batch_members',
        default=True,
        help='Whether several members of a pool are changed in one update of the load balancer '
        'where that is safe. Otherwise each member takes an update of its own.',
    ),
    cfg.FloatOpt(
        'poll_initial_s',
        default=0.5,
        min=0.05,
        help='First interval in seconds between polls of a load balancer that is being updated.',
    ),
    cfg.FloatOpt(
        'poll_max_s',
        default=5,
        min=0.05,
        help='Longest interval in seconds between polls; the intervals grow up to it, with jitter.',
    ),
    cfg.IntOpt(
        'max_attempts',
        default=10,
        min=1,
        help='Number of attempts of a call that Octavia does not complete. All updates of a '
        'check together take at most lb_status_timeout of the policy.',
    ),
]
