"""The cordons of the file that the configuration names."""

from oslo_config import cfg

from placement_worker.cordons.cordon_file import InvalidCordonFile
from placement_worker.cordons.live_cordons import LiveCordons
from placement_worker.errors import ConfigurationError


def create(conf: cfg.ConfigOpts) -> LiveCordons | None:
    """Return the cordons of `[placement] cordon_file`, or None without a file.

    :raises ConfigurationError: the file cannot be read, or its content is not valid.
    """
    path = conf.placement.cordon_file
    try:
        return LiveCordons(path, is_shared=True) if path else None
    except InvalidCordonFile as exc:
        raise ConfigurationError(f'[placement] cordon_file: {exc}') from exc
