"""[service_auth]: the service user, with the options of keystoneauth that other services have."""

from typing import Any

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = 'service_auth'
REQUEST_TIMEOUT_S = 60
SAMPLE_PLUGIN = 'password'
INSECURE_HELP = 'Do not verify the certificates of HTTPS connections.'
_CONNECTION_OPTIONS = ('cafile', 'certfile', 'insecure', 'keyfile', 'timeout')
_CATALOG_OPTIONS = ('interface', 'valid_interfaces', 'region_name')
_NOT_IN_SAMPLE = (
    'default_domain_id',
    'default_domain_name',
    'domain_id',
    'domain_name',
    'system_scope',
    'trust_id',
)
"""Scopes without effect: a token is for the project of a trust or of the service user."""


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of every auth plugin; a plugin registers its own when it is loaded."""
    loading.register_auth_conf_options(conf, GROUP)
    conf.register_opts(_common(), group=GROUP)


def _common() -> list[Any]:
    """Return the options of connection and catalog that have an effect; [cloud] sets retries."""
    available = [*loading.get_session_conf_options(), *loading.get_adapter_conf_options()]
    options = [
        option for option in available if option.dest in (*_CONNECTION_OPTIONS, *_CATALOG_OPTIONS)
    ]
    cfg.set_defaults(options, timeout=REQUEST_TIMEOUT_S)
    for option in options:
        if option.dest == 'insecure':  # keystoneauth's help states the opposite of the value
            option.help = INSECURE_HELP
    return options


def sample_options() -> list[Any]:
    """Return all options for the sample, with those of the password plugin."""
    plugin = [
        option
        for option in loading.get_auth_plugin_conf_options(SAMPLE_PLUGIN)
        if option.dest not in _NOT_IN_SAMPLE
    ]
    return [*loading.get_auth_common_conf_options(), *plugin, *_common()]
