"""The cloud that the configuration names."""

from oslo_config import cfg

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.cloud.ports import Clouds
from placement_worker.errors import ConfigurationError, InvalidInventory


def create(conf: cfg.ConfigOpts, state_file: str | None = None) -> Clouds:
    """Return the cloud of `[cloud] backend`; no service is called yet.

    :param state_file: keeps the load balancers of an embedded cloud whose description names no
        file, so that all processes share them.
    :raises ConfigurationError: an option is missing or has an invalid value.
    """
    if conf.cloud.backend == 'openstack':
        # Only this backend needs the libraries of OpenStack.
        from placement_worker.worker import openstack_factory  # noqa: PLC0415

        return openstack_factory.create(conf)
    inventory = _load_inventory(conf.cloud.inventory_file)
    return inventory.with_state_in(state_file) if state_file else inventory


def _load_inventory(path: str | None) -> Inventory:
    if not path:
        raise ConfigurationError(
            '[cloud] backend = inventory needs inventory_file, the description of a cloud'
        )
    try:
        return Inventory.load(path)
    except InvalidInventory as exc:
        is_missing = isinstance(exc.__cause__, FileNotFoundError)
        remedy = '; create it, or correct the path' if is_missing else ''
        raise ConfigurationError(f'[cloud] inventory_file: {exc}{remedy}') from exc
