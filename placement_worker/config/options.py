"""Every option of the worker, by group.

Options of oslo.messaging, oslo.log and oslo.reports are registered by these libraries. A program
that only lists options, such as oslo-config-generator, loads nothing else of this package than
`contract`, `errors` and `formats`, and keystoneauth only for [service_auth].
"""

import os
import socket
from typing import Any

import oslo_messaging
from cotyledon import oslo_config_glue
from oslo_config import cfg, types
from oslo_reports import opts as report_options

from placement_worker.contract.rpc import EXCHANGE, SLOW_TOPIC, TOPIC, Limits

GRACEFUL_SHUTDOWN_TIMEOUT_S = 900  # between the timeout of an engine and that of RabbitMQ
_LIMITS = Limits()
WORKER = [
    cfg.StrOpt(
        'topic', default=TOPIC, help='Topic of requests that do not wait for load balancers.'
    ),
    cfg.StrOpt(
        'slow_topic',
        default=SLOW_TOPIC,
        help='Topic of requests that may wait for a load balancer. They have threads of their own '
        'and do not delay other requests.',
    ),
    cfg.HostAddressOpt(
        'host',
        default=socket.gethostname(),
        sample_default='<host name>',
        help='Unique name of this worker, to which engines can address a request. Its queue stays '
        'on the broker, so do not choose a name that changes with every container.',
    ),
    cfg.IntOpt(
        'workers',
        default=min(4, os.cpu_count() or 1),
        sample_default='<number of CPUs, at most 4>',
        min=1,
        help='Number of processes.',
    ),
    cfg.IntOpt(
        'threads',
        default=8,
        min=1,
        help='Number of requests of topic that a process handles in parallel and prefetches from '
        'the broker.',
    ),
    cfg.IntOpt(
        'slow_threads',
        default=16,
        min=1,
        help='Number of requests of slow_topic that a process handles in parallel and prefetches. '
        'Most of the time they wait for load balancers.',
    ),
    cfg.IntOpt(
        'max_deliveries',
        default=2,
        min=1,
        max=50,
        help='Number of deaths of processes of a host with the same request in flight after which '
        'the request moves to the isolation queue. After one more it moves to the parking lot: see '
        'placement-policy parked. Lost connections do not count.',
    ),
    cfg.IntOpt(
        'engine_timeout_s',
        default=600,
        min=1,
        help='Time in seconds that engines wait for a reply. The worker cannot read it from them: '
        'repeat their setting here, so that the worker can check the order of the timeouts when '
        'it starts.',
    ),
    cfg.IntOpt(
        'consumer_timeout_s',
        default=1800,
        min=1,
        help='The consumer_timeout of RabbitMQ in seconds: the time after which it redelivers a '
        'request that is not acknowledged. The worker cannot read it from RabbitMQ: repeat the '
        'setting here.',
    ),
    cfg.IntOpt(
        'liveness_poll_age_s',
        default=30,
        min=8,
        help='Greatest age in seconds of the last poll for requests of each process of a live '
        'worker. A process polls every three seconds, even while all its threads are busy.',
    ),
    cfg.IntOpt(
        'liveness_reconnect_age_s',
        default=0,
        min=0,
        help='Greatest age in seconds of the last poll while the process has no broker '
        'connection; each attempt to reconnect may take ten seconds. 0: no limit, so that an '
        'outage of the broker does not restart every worker.',
    ),
    cfg.IntOpt(
        'readiness_disconnected_s',
        default=30,
        min=1,
        help='Time in seconds that a process of a ready worker may be without a broker connection, '
        'and that the process in the place of a dead one may take to serve.',
    ),
    cfg.IntOpt(
        'liveness_request_age_s',
        default=900,
        min=1,
        help='Greatest age in seconds of a request in flight in a live worker; requests that '
        'wait for a thread do not count. It must exceed engine_timeout_s.',
    ),
    cfg.FloatOpt(
        'reply_timeout_s',
        default=10,
        min=0.1,
        help='Time in seconds for which a reply is retried if its destination rejects it or is '
        'missing, but never beyond the expiry of the request. Then the reply is dropped and '
        'logged. An engine that loses its RabbitMQ node reconnects within 2 to 9 s. The retries '
        'run in the background. While the broker is unreachable, replies wait for '
        'engine_timeout_s, or for liveness_request_age_s less engine_timeout_s if that is shorter; '
        'then their requests are delivered again.',
    ),
    cfg.ListOpt(
        'reply_to_allowed',
        default=[],
        item_type=types.String(regex=r'^[A-Za-z0-9_.:*?-]+(/[A-Za-z0-9_.:*?-]+)?$'),
        help='Allowed destinations of the reply to a cast (reply_to), as patterns EXCHANGE or '
        'EXCHANGE/TOPIC, e.g. engine or engine/replies. An asterisk stands for any characters, '
        'and a question mark for one. Empty: all destinations but those that are always refused. '
        'Always refused are the default exchange, exchanges that begin with amq., '
        'control_exchange, the notification topics, the isolation queue and the parking lot.',
    ),
    cfg.StrOpt(
        'liveness_file',
        help='File that the worker writes every few seconds for probes of containers; '
        'placement-worker-status liveness and readiness read it. Its folder must be writable for '
        'the worker. None by default.',
    ),
    cfg.IntOpt(
        'max_nodes_per_cluster',
        default=_LIMITS.nodes_per_cluster,
        min=1,
        mutable=True,
        help='The largest size, in nodes, to which a check may grow a cluster. Larger clusters '
        'are still served. Set it to the limit of the engine.',
    ),
    cfg.IntOpt(
        'max_request_bytes',
        default=_LIMITS.request_bytes,
        min=1024,
        mutable=True,
        help='The largest request in bytes of JSON; larger ones are refused.',
    ),
]

CLOUD = [
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
        help='Time in seconds for which zones and regions are cached. 0: every check queries the '
        'cloud, but checks of one project that query at the same time share one response.',
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
        help='Number of attempts of a request to Keystone, Nova or Neutron if the connection fails '
        'or the service responds that it is busy (429, 503) or failed (other 5xx, except 501).',
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

LOAD_BALANCER = [
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

PLACEMENT = [
    cfg.StrOpt(
        'cordon_file',
        help='File with the cordons: a YAML list of zones and regions in which no node is created '
        'until a time. The worker reads it again when it changes. `placement-policy cordon` '
        'edits it. None by default.',
    )
]

METRICS = [
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

DECISION_LOG = [
    cfg.StrOpt(
        'file',
        help='File to which each decision is appended as a line of JSON: the request, the '
        'responses of the cloud, the version and the reply. `placement-policy replay` '
        'repeats the decisions. Credentials are left out. All processes write to it, and '
        'logrotate may move it. None by default.',
    )
]

GROUPS: dict[str, list[Any]] = {
    'worker': WORKER,
    'cloud': CLOUD,
    'load_balancer': LOAD_BALANCER,
    'placement': PLACEMENT,
    'metrics': METRICS,
    'decision_log': DECISION_LOG,
}

# [service_auth]: the service user, with the options of keystoneauth that other services have.
SERVICE_AUTH = 'service_auth'
REQUEST_TIMEOUT_S = 60
_EFFECTIVE = (
    'cafile', 'certfile', 'insecure', 'keyfile', 'timeout',  # of the connection
    'interface', 'valid_interfaces', 'region_name',  # of the catalog; [cloud] sets retries
)  # fmt: skip
# Scopes without effect: a token is for the project of a trust or of the service user.
_NOT_IN_SAMPLE = (
    'default_domain_id', 'default_domain_name', 'domain_id', 'domain_name', 'system_scope',
    'trust_id',
)  # fmt: skip


def register(conf: cfg.ConfigOpts) -> None:
    """Register all options but those of [service_auth]."""
    for group, options in GROUPS.items():
        conf.register_opts(options, group=group)
    conf.register_opts(oslo_config_glue.service_opts)
    report_options.set_defaults(conf)


def set_defaults() -> None:
    oslo_messaging.set_transport_defaults(EXCHANGE)
    cfg.set_defaults(
        oslo_config_glue.service_opts, graceful_shutdown_timeout=GRACEFUL_SHUTDOWN_TIMEOUT_S
    )


def list_opts() -> list[tuple[str, list[Any]]]:
    from keystoneauth1 import loading  # noqa: PLC0415

    available = loading.get_auth_plugin_conf_options('password')
    plugin = [option for option in available if option.dest not in _NOT_IN_SAMPLE]
    sample = [*loading.get_auth_common_conf_options(), *plugin, *_effective_options()]
    return [*GROUPS.items(), (SERVICE_AUTH, sample)]


def register_service_auth(conf: cfg.ConfigOpts) -> None:
    """Register the options of every auth plugin; a plugin registers its own when it is loaded."""
    from keystoneauth1 import loading  # noqa: PLC0415  # slow, and one backend needs it

    loading.register_auth_conf_options(conf, SERVICE_AUTH)
    conf.register_opts(_effective_options(), group=SERVICE_AUTH)


def _effective_options() -> list[Any]:
    from keystoneauth1 import loading  # noqa: PLC0415

    available = [*loading.get_session_conf_options(), *loading.get_adapter_conf_options()]
    options = [option for option in available if option.dest in _EFFECTIVE]
    cfg.set_defaults(options, timeout=REQUEST_TIMEOUT_S)
    for option in options:
        if option.dest == 'insecure':  # keystoneauth's help states the opposite of the value
            option.help = 'Do not verify the certificates of HTTPS connections.'
    return options
