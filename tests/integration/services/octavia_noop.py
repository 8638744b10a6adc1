"""Patches of Octavia's no-op network driver, which lacks parts of the life cycle."""

from functools import cache
from pathlib import Path
from typing import Any

from octavia.db import api, models
from octavia.network import data_models
from octavia.network.drivers.neutron.allowed_address_pairs import AllowedAddressPairsDriver
from octavia.network.drivers.noop_driver import driver
from oslo_config import cfg


def accept_sqlite() -> None:
    """Remove the pool timeout of Octavia, which sqlite refuses; a file cannot set it to None."""
    if cfg.CONF.database.connection.startswith('sqlite'):
        cfg.CONF.set_override('pool_timeout', None, group='database')


def patch(database: Path) -> None:
    """Apply the patches.

    :param database: the file for the ports of the driver. The default is one file per machine.
    """
    _create_engine, _create_facade = driver.create_engine, api._create_facade_lazily

    def create_facade() -> None:
        accept_sqlite()
        _create_facade()

    driver.create_engine = lambda _url: _create_engine(f'sqlite:///{database}')
    api._create_facade_lazily = create_facade
    _look_up_in_neutron()
    _report_plugged()


def _look_up_in_neutron() -> None:
    """Look up subnets and networks in Neutron, except those of an amphora's own ports."""
    neutron = cache(AllowedAddressPairsDriver)
    noop = driver.NoopManager
    subnet, network = noop.get_subnet, noop.get_network
    noop.get_subnet = lambda self, id_: neutron().get_subnet(id_) if id_ else subnet(self, id_)
    noop.get_network = lambda self, id_: neutron().get_network(id_) if id_ else network(self, id_)


def _report_plugged() -> None:
    """Report the network of the VIP as plugged.

    The driver does not store this port, so deleting the last member would fail.
    """
    plugged = driver.NoopManager.get_plugged_networks

    def get_plugged_networks(self: Any, compute_id: str) -> list[data_models.Interface]:
        interfaces = list(plugged(self, compute_id))
        known = {interface.network_id for interface in interfaces}
        return interfaces + [
            _interface(vip, compute_id)
            for vip in _addresses(compute_id)
            if vip.network_id not in known
        ]

    driver.NoopManager.get_plugged_networks = get_plugged_networks


def _addresses(compute_id: str) -> list[models.Vip]:
    session = api.get_session()
    with session.begin():
        on_same = models.Amphora.load_balancer_id == models.Vip.load_balancer_id
        found = (
            session.query(models.Vip)
            .join(models.Amphora, on_same)
            .filter(models.Amphora.compute_id == compute_id)
        )
        addresses = found.all()
        session.expunge_all()
        return addresses


def _interface(vip: models.Vip, compute_id: str) -> data_models.Interface:
    address = data_models.FixedIP(subnet_id=vip.subnet_id, ip_address=vip.ip_address)
    return data_models.Interface(
        id=vip.port_id,
        compute_id=compute_id,
        network_id=vip.network_id,
        port_id=vip.port_id,
        fixed_ips=[address],
    )
