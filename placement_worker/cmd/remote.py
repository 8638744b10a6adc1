"""Commands that ask running workers; importing this imports the messaging layer."""

from oslo_config import cfg

from placement_worker import config, errors
from placement_worker.rpc import transport
from placement_worker.rpc.client import PolicyClient


def client(url: str | None, config_file: str | None, timeout_s: float) -> PolicyClient:
    """The client that a transport URL or the workers' configuration file leads to.

    :raises ConfigurationError: the file cannot be read, or says what does not fit.
    """
    conf = cfg.CONF
    config.register(conf)
    try:
        conf([], default_config_files=[config_file] if config_file else [])
    except (cfg.Error, UnicodeDecodeError) as exc:
        raise errors.ConfigurationError(config.told(exc)) from exc
    config.set_defaults()
    return PolicyClient(
        url, conf=conf, topic=conf.worker.topic, exchange=transport.exchange(conf), timeout_s=timeout_s
    )
