"""Zones and servers in Nova's database, written with Nova's objects.

The API then needs no compute service, scheduler or broker.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nova import context, objects
from nova.db.api import api as api_db
from nova.db.main import api as main_db
from nova.network import model as network_model
from oslo_utils import timeutils, uuidutils

CELL = '11111111-1111-4111-8111-111111111111'
FLAVOR = {
    'flavorid': '1',
    'name': 'm1.tiny',
    'memory_mb': 512,
    'vcpus': 1,
    'root_gb': 1,
    'ephemeral_gb': 0,
    'swap': 0,
    'rxtx_factor': 1.0,
    'vcpu_weight': 0,
    'is_public': True,
    'disabled': False,
    'extra_specs': {},
    'projects': [],
}


def _host(zone: str) -> str:
    return f'compute-{zone}'


def add_zones(zones: Sequence[str]) -> None:
    """Create zones with one compute host each, and the flavor of all servers."""
    admin = context.get_admin_context()
    cell = objects.CellMapping.get_by_uuid(admin, CELL)
    objects.Flavor(admin, **FLAVOR).create()
    for zone in zones:
        with context.target_cell(admin, cell) as targeted:
            _add_compute(targeted, _host(zone))
        objects.HostMapping(admin, host=_host(zone), cell_mapping=cell).create()
        aggregate = objects.Aggregate(admin, name=zone, metadata={'availability_zone': zone})
        aggregate.create()
        aggregate.add_host(_host(zone))


def _add_compute(targeted: Any, host: str) -> None:
    """Add a compute service that has just reported; `service_down_time` keeps it up."""
    given = {
        'host': host,
        'binary': 'nova-compute',
        'topic': 'compute',
        'uuid': uuidutils.generate_uuid(),
    }
    service = objects.Service(
        targeted, report_count=1, disabled=False, last_seen_up=timeutils.utcnow(), **given
    )
    service.create()
    service.report_count = 2
    service.save()


def set_zone(zone: str, available: bool) -> None:
    """Enable or disable the only compute service of a zone."""
    admin = context.get_admin_context()
    with context.target_cell(admin, objects.CellMapping.get_by_uuid(admin, CELL)) as targeted:
        service = objects.Service.get_by_host_and_binary(targeted, _host(zone), 'nova-compute')
        service.disabled = not available
        service.save()


def add_servers(project_id: str, user_id: str, servers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Create active servers and return their ids.

    One transaction per database halves the time for many servers.

    :param servers: name, zone and networks of each server. A network has id, label and addresses,
        which are pairs of CIDR and address.
    """
    owner = context.RequestContext(user_id, project_id, is_admin=True)
    cell = objects.CellMapping.get_by_uuid(owner, CELL)
    flavor = objects.Flavor.get_by_flavor_id(owner, FLAVOR['flavorid'])
    with (
        context.target_cell(owner, cell) as targeted,
        main_db.context_manager.writer.using(targeted),
    ):
        made = [_add_server(targeted, flavor, server) for server in servers]
    with api_db.context_manager.writer.using(owner):
        for uuid in made:
            mapping = {
                'instance_uuid': uuid,
                'project_id': project_id,
                'user_id': user_id,
                'cell_mapping': cell,
            }
            objects.InstanceMapping(owner, queued_for_delete=False, **mapping).create()
    return made


def _add_server(targeted: Any, flavor: Any, server: Mapping[str, Any]) -> str:
    instance = objects.Instance(
        targeted,
        uuid=uuidutils.generate_uuid(),
        project_id=targeted.project_id,
        user_id=targeted.user_id,
        host=_host(server['zone']),
        availability_zone=server['zone'],
        display_name=server['name'],
        hostname=server['name'],
        vm_state='active',
        power_state=1,
        launched_at=timeutils.utcnow(),
        image_ref='',
        memory_mb=flavor.memory_mb,
        vcpus=flavor.vcpus,
        root_gb=flavor.root_gb,
        ephemeral_gb=0,
        metadata={},
        system_metadata={},
        launch_index=0,
        reservation_id='r-integration',
        instance_type_id=flavor.id,
        locked=False,
        config_drive='',
        root_device_name='/dev/vda',
    )
    instance.flavor, instance.old_flavor, instance.new_flavor = flavor, None, None
    instance.create()
    cached = objects.InstanceInfoCache.get_by_instance_uuid(targeted, instance.uuid)
    cached.network_info = network_model.NetworkInfo(
        [_port(network) for network in server['networks']]
    )
    cached.save()
    return instance.uuid


def _port(network: Mapping[str, Any]) -> network_model.VIF:
    subnets = [
        network_model.Subnet(cidr=cidr, version=version, ips=[_fixed(address, version)])
        for cidr, address in network['addresses']
        for version in [6 if ':' in address else 4]
    ]
    described = network_model.Network(
        id=network['id'], bridge='br', label=network['label'], subnets=subnets
    )
    return network_model.VIF(
        id=uuidutils.generate_uuid(),
        address='fa:16:3e:00:00:01',
        network=described,
        type='ovs',
        active=True,
    )


def _fixed(address: str, version: int) -> network_model.FixedIP:
    return network_model.FixedIP(address=address, version=version, type='fixed')
