"""[cloud]: where the answers about zones and regions come from."""

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        'backend',
        default='openstack',
        choices=[
            ('openstack', 'Keystone and Nova, acting for the owner of each cluster.'),
            ('inventory', 'The embedded cloud that inventory_file describes.'),
        ],
        help='The cloud that is asked.',
    ),
    cfg.StrOpt('inventory_file', help='The description of the embedded cloud, YAML or JSON.'),
]
