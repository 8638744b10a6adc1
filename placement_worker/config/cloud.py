"""[cloud]: the source of zones, regions, servers and networks."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        'backend',
        default='openstack',
        choices=[
            (
                'openstack',
                'Keystone, Nova, Neutron and Octavia, acting for the owner of each cluster.',
            ),
            ('inventory', 'The embedded cloud that inventory_file describes.'),
        ],
        help='Cloud that the worker queries.',
    ),
    cfg.StrOpt('inventory_file', help='Description of the embedded cloud, YAML or JSON.'),
    cfg.StrOpt(
        'cloud_name',
        help='Entry of clouds.yaml to use instead of [service_auth], for experiments. The '
        'search order is that of openstacksdk: OS_CLIENT_CONFIG_FILE, the current folder, '
        '~/.config/openstack, /etc/openstack.',
    ),
    cfg.FloatOpt(
        'validity_ttl_s',
        default=0,
        min=0,
        help='Time in seconds for which zones and regions are cached. 0: every check queries '
        'the cloud, but checks of one project that query at the same time share one '
        'response.',
    ),
    cfg.BoolOpt(
        'allow_service_credentials',
        default=False,
        help='Whether a request without a trust may use the rights of the service user. '
        'Otherwise it is refused.',
    ),
    cfg.IntOpt(
        'max_sessions',
        default=256,
        min=1,
        help='Number of trusts whose token and service catalog a process keeps; the least '
        'recently used one is dropped first.',
    ),
    cfg.IntOpt(
        'max_attempts',
        default=4,
        min=1,
        help='Number of attempts of a request to Keystone, Nova or Neutron if the connection '
        'fails or the service responds that it is busy (429, 503) or failed (other 5xx, '
        'except 501).',
    ),
    cfg.FloatOpt(
        'lookup_budget_s',
        default=30,
        min=0.1,
        help='Time budget in seconds of a check for Keystone, Nova and Neutron, retries '
        'included. Beyond it the check ends in ERROR with a reason that names the '
        'service. It must be less than engine_timeout_s. Load balancers have a timeout of '
        'their own: lb_status_timeout of the policy.',
    ),
]
