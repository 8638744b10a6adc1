"""The OpenStack cloud of [service_auth], or of an entry of clouds.yaml.

It stands apart from `factory`, because only this backend needs the libraries of OpenStack.
"""

from collections.abc import Callable, Mapping
from typing import Any

from keystoneauth1 import exceptions, loading
from keystoneauth1.identity import BaseIdentityPlugin
from oslo_config import cfg

from placement_worker.cloud.openstack.project_cloud import OpenStackClouds
from placement_worker.cloud.openstack.retry_policy import RetryPolicy
from placement_worker.cloud.openstack.sessions import Access
from placement_worker.config.options import REQUEST_TIMEOUT_S, SERVICE_AUTH, register_service_auth
from placement_worker.errors import ConfigurationError

INTERFACE = 'public'
# Options of scopes that a token for a trust must not have.
SCOPES = (
    'domain_id', 'domain_name', 'system_scope',
    'project_id', 'project_name', 'project_domain_id', 'project_domain_name',
)  # fmt: skip


def create(conf: cfg.ConfigOpts) -> OpenStackClouds:
    """Return the cloud; no service is called yet."""
    register_service_auth(conf)
    access = (
        _access_of_clouds_yaml(conf.cloud.cloud_name)
        if conf.cloud.cloud_name
        else _access_of_service_auth(conf)
    )
    access.log_in('a trust')  # reports missing options now
    return OpenStackClouds(
        access,
        retry_policy=RetryPolicy(conf.cloud.max_attempts, conf.cloud.lookup_budget_s),
        max_sessions=conf.cloud.max_sessions,
        validity_ttl_s=conf.cloud.validity_ttl_s,
        allow_service_credentials=conf.cloud.allow_service_credentials,
    )


def _access_of_service_auth(conf: cfg.ConfigOpts) -> Access:
    group = conf[SERVICE_AUTH]
    plugin = group.auth_section or SERVICE_AUTH
    if not conf[plugin].auth_type:
        raise ConfigurationError(
            f'[{plugin}] auth_type is not set: [cloud] backend = openstack needs a service user '
            '(auth_type = password, auth_url, username, password, ...), or cloud_name'
        )

    def load(**options: Any) -> Any:
        try:
            return loading.load_auth_from_conf_options(conf, SERVICE_AUTH, **options)
        except (cfg.NoSuchOptError, cfg.TemplateSubstitutionError):  # the text may be of a password
            raise ConfigurationError(
                f'[{plugin}] has a value with a $, and oslo.config takes the text behind it for '
                'the name of another option; write $$ for a $ in a password'
            ) from None

    return Access(
        log_in=_create_log_in(load, f'[{plugin}]'),
        region=group.region_name,
        interfaces=[group.interface] if group.interface else group.valid_interfaces or [INTERFACE],
        connection={
            'verify': False if group.insecure else group.cafile or True,
            'cert': (group.certfile, group.keyfile)
            if group.certfile and group.keyfile
            else group.certfile,
            'timeout': group.timeout,
        },
    )


def _access_of_clouds_yaml(name: str) -> Access:
    from openstack.config import OpenStackConfig  # noqa: PLC0415  # slow, for experiments only
    from openstack.exceptions import ConfigException  # noqa: PLC0415

    try:
        cloud = OpenStackConfig().get_one(cloud=name)
    except ConfigException as exc:
        raise ConfigurationError(f'[cloud] cloud_name = {name}: {exc}') from exc
    loader: Any = loading.get_plugin_loader(cloud.config['auth_type'])

    def load(**options: Any) -> Any:
        return loader.load_from_options(**{**cloud.config['auth'], **options})

    verify, cert = cloud.get_requests_verify_args()
    interface: Any = cloud.get_interface() or INTERFACE
    return Access(
        log_in=_create_log_in(load, f'clouds.yaml, {name}'),
        region=cloud.region_name,
        interfaces=[interface] if isinstance(interface, str) else interface,
        connection={'verify': verify, 'cert': cert, 'timeout': REQUEST_TIMEOUT_S},
    )


def _create_log_in(
    load: Callable[..., Any], source: str
) -> Callable[[str | None], BaseIdentityPlugin]:
    def log_in(trust_id: str | None) -> BaseIdentityPlugin:
        scope: Mapping[str, Any] = (
            {**dict.fromkeys(SCOPES), 'trust_id': trust_id} if trust_id else {}
        )
        try:
            plugin: BaseIdentityPlugin = load(**scope)
        except exceptions.AuthPluginException as exc:
            raise ConfigurationError(
                f'{source} does not suffice to act for the owner of a trust: {exc}'
            ) from exc
        except TypeError as exc:
            raise ConfigurationError(
                f'{source} has an auth_type that takes no trust: use password'
            ) from exc
        return plugin

    return log_in
