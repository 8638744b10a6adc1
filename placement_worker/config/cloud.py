"""[cloud]: where the answers about zones, regions, servers and networks come from."""

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
        help='The cloud that is asked.',
    ),
    cfg.StrOpt('inventory_file', help='The description of the embedded cloud, YAML or JSON.'),
    cfg.StrOpt(
        'cloud_name',
        help='An entry of clouds.yaml that stands in for [service_auth], for trying things out. The file is looked '
        'for where every OpenStack client looks: OS_CLIENT_CONFIG_FILE, the current folder, ~/.config/openstack, '
        '/etc/openstack.',
    ),
    cfg.FloatOpt(
        'validity_ttl_s',
        default=0,
        min=0,
        help='How long, in seconds, an answer about zones and regions is kept. 0: the cloud is asked at every check, '
        'but once for checks of one project that ask at the same time.',
    ),
    cfg.BoolOpt(
        'allow_service_credentials',
        default=False,
        help="Whether a request without a trust may use the service user's own rights. Otherwise it is refused.",
    ),
    cfg.IntOpt(
        'max_sessions',
        default=256,
        min=1,
        help='Number of trusts whose token and service catalog a process keeps; those used last stay.',
    ),
    cfg.IntOpt(
        'max_attempts',
        default=4,
        min=1,
        help='How often a request to Keystone, Nova or Neutron is sent if connections fail, or if the service answers '
        'that it is busy (429) or broken (5xx).',
    ),
    cfg.FloatOpt(
        'lookup_budget_s',
        default=30,
        min=0.1,
        help='How long, in seconds, a check may wait for Keystone, Nova and Neutron in all, retries included. After '
        'that it ends in ERROR with a reason that names the service. It has to be less than engine_timeout_s. Load '
        "balancers have a time-out of their own: the policy's lb_status_timeout.",
    ),
]
