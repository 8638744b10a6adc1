"""[service_auth]: the service user, with the options that OpenStack services have for theirs
(keystoneauth).
"""

from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = 'service_auth'
REQUEST_TIMEOUT_S = 60
SHOWN_PLUGIN = 'password'
_OF_CONNECTION = ('cafile', 'certfile', 'insecure', 'keyfile', 'timeout')
_OF_CATALOG = ('interface', 'valid_interfaces', 'region_name')
_NOT_SHOWN = (
    'default_domain_id',
    'default_domain_name',
    'domain_id',
    'domain_name',
    'system_scope',
    'trust_id',
)
"""Tokens are for the project of a trust, or for that of the service user."""


def register(conf: cfg.ConfigOpts) -> None:
    """Make known what is the same for every auth plugin; each one registers its own options when it
    is loaded.
    """
    loading.register_auth_conf_options(conf, GROUP)
    conf.register_opts(_common(), group=GROUP)


def _common() -> list[Any]:
    """Those of the connection and of the catalog that have an effect here; retries are those of
    [cloud].
    """
    offered = [*loading.get_session_conf_options(), *loading.get_adapter_conf_options()]
    options = [option for option in offered if option.dest in (*_OF_CONNECTION, *_OF_CATALOG)]
    cfg.set_defaults(options, timeout=REQUEST_TIMEOUT_S)
    return options


def shown_options() -> list[Any]:
    """All options, for the sample: those of the plugin that takes a password too."""
    plugin = [
        one
        for one in loading.get_auth_plugin_conf_options(SHOWN_PLUGIN)
        if one.dest not in _NOT_SHOWN
    ]
    return [*loading.get_auth_common_conf_options(), *plugin, *_common()]
