"""Check the place of a cordon against the embedded cloud of a configuration."""

import difflib
from collections.abc import Collection

from oslo_config import cfg

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import InvalidInventory
from placement_worker.formats.text import listed
from placement_worker.planning.cordon import Cordon


def unknown(cordon: Cordon, conf: cfg.ConfigOpts) -> str | None:
    """Return a sentence about a place that the embedded cloud lacks, or None.

    Another cloud is not asked: this needs the credentials of the worker.
    """
    if conf.cloud.backend != 'inventory' or not conf.cloud.inventory_file:
        return None
    try:
        inventory = Inventory.load(conf.cloud.inventory_file)
    except InvalidInventory:  # a worker does not start with it and reports it
        return None
    regions = inventory.regions()
    if cordon.region and cordon.region not in regions:
        return _sentence(cordon, cordon.region, 'regions', regions)
    asked = {cordon.region} if cordon.region else {None, *regions}
    zones = {zone for region in asked for zone in inventory.zones(region)}
    if cordon.zone and cordon.zone not in zones:
        return _sentence(cordon, cordon.zone, 'zones', zones)
    return None


def _sentence(cordon: Cordon, name: str, kind: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    meant = f' (did you mean {near[0]}?)' if near else ''
    return (
        f'The cordon of {cordon.place} has no effect{meant}; the {kind} of [cloud] inventory_file '
        f'are {listed(sorted(known)) or "none"}'
    )
