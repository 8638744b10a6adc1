"""The command `placement-policy export`: a request file from the API of Senlin or Heat.

The file has the keys of the contract alone: profiles and templates hold passwords and user data.
The specs of policies, and the data of a cluster and its nodes, are copied whole.
"""

import contextlib
import datetime
import uuid
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import yaml
from typing_extensions import override

from placement_worker import errors
from placement_worker.cmd.base import OK, LocalCommand
from placement_worker.contract import actions, codec
from placement_worker.contract.model import CheckRequest, Credentials, Spec
from placement_worker.engines.heat import plans, worker_choice
from placement_worker.formats.text import escaped
from placement_worker.policies.registry import Registry

_SENLIN_VERSION = {'OpenStack-API-Version': 'clustering 1.14'}  # the first with `tainted` is 1.13
TIMEOUT_S = 60  # of a request, unless clouds.yaml has an api_timeout; openstacksdk sets none
_DELETION = {'criteria': 'OLDEST_FIRST'}
_NO_TRUST = (
    'The file has no trust: plan it with "--cloud FILE" (export --write-cloud), or with a worker '
    'that has [cloud] allow_service_credentials'
)
_Get = Callable[[str], Any]


class Export(LocalCommand):
    examples = (
        'placement-policy export --senlin web --os-cloud prod --write-cloud cloud.yaml > web.yaml',
        'placement-policy export --heat STACK GROUP --change -2 > web.yaml',
    )
    epilog = (
        'The file has no passwords and no user data of profiles and templates; read the specs of '
        'policies, and the data of nodes, before you share it. Comments name what the API does '
        'not say. Exit status: 0 success, 2 failure.'
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        engine = parser.add_mutually_exclusive_group(required=True)
        engine.add_argument('--senlin', metavar='CLUSTER', help='name or ID of a cluster')
        engine.add_argument(
            '--heat',
            nargs=2,
            metavar=('STACK', 'GROUP'),
            help='name or ID of a stack, and the name of an autoscaling group in it',
        )
        parser.add_argument(
            '--os-cloud', metavar='NAME', help='a cloud of clouds.yaml; default: OS_CLOUD'
        )
        parser.add_argument(
            '--change',
            metavar='NUMBER',
            type=int,
            default=1,
            help='the change of the size, e.g. -2; default: 1',
        )
        parser.add_argument(
            '--write-cloud', metavar='FILE', help='also write the zones of Nova, for plan --cloud'
        )

    @override
    def take_action(self, parsed_args: Namespace) -> int:
        args, notes = parsed_args, [_NO_TRUST]
        with _connected(args.os_cloud) as cloud:
            if args.senlin:
                get = _getter(cloud.clustering, _SENLIN_VERSION)
                request = _request_of_senlin(get, args.senlin, args.change, notes)
            else:
                request = _request_of_heat(cloud, args.heat, args.change, notes)
            if args.write_cloud:
                region, zones = cloud.config.get_region_name(), _zones(cloud)
                described = {'zones': zones, 'regions': [region] if region else []}
                Path(args.write_cloud).write_text(yaml.safe_dump(described), encoding='utf-8')
        plain = msgspec.to_builtins(request)
        now = datetime.datetime.now(datetime.UTC)
        comments = [f'{request.cluster.name}, exported at {now:%Y-%m-%dT%H:%M:%SZ}', *notes]
        for comment in comments:
            self.write(escaped(f'# {comment}'))
        kept = {key: plain[key] for key in ('target', 'action', 'cluster', 'policies')}
        self.write(yaml.safe_dump(kept, sort_keys=False).rstrip('\n'))
        return OK


@contextlib.contextmanager
def _connected(name: str | None) -> Iterator[Any]:
    import openstack  # noqa: PLC0415  # slow
    from keystoneauth1.exceptions import ClientException  # noqa: PLC0415

    try:
        with contextlib.closing(openstack.connect(cloud=name)) as cloud:
            cloud.session.timeout = cloud.session.timeout or TIMEOUT_S
            yield cloud
    except (KeyError, TypeError) as exc:
        raise errors.ConfigurationError(
            f'Unexpected response of the cloud: {exc!r}; check the endpoints of --os-cloud'
        ) from exc
    except (openstack.exceptions.SDKException, ClientException) as exc:
        raise errors.ConfigurationError(
            f'Cannot read the cluster from the cloud: {exc}; check the names, --os-cloud and '
            'clouds.yaml'
        ) from exc


def _getter(service: Any, headers: Mapping[str, str] = {}) -> _Get:
    from openstack.exceptions import raise_from_response  # noqa: PLC0415

    def get(path: str) -> Any:
        response = service.get(path, headers=headers)
        raise_from_response(response)
        return response.json()

    return get


def _zones(cloud: Any) -> dict[str, bool]:
    zones = _getter(cloud.compute)('/os-availability-zone')['availabilityZoneInfo']
    return {zone['zoneName']: zone['zoneState']['available'] for zone in zones}


def _action(change: int) -> tuple[str, dict[str, Any]]:
    action = actions.CLUSTER_SCALE_OUT if change > 0 else actions.CLUSTER_SCALE_IN
    return action, {'count': abs(change)}


def _request_of_senlin(get: _Get, name: str, change: int, notes: list[str]) -> CheckRequest:
    """Decoding drops what the contract does not list, as in the request of an engine."""
    cluster = get(f'/clusters/{quote(name, safe="")}')['cluster']
    nodes = get(f'/nodes?cluster_id={cluster["id"]}')['nodes']
    profiles = {
        profile_id: _profile(get(f'/profiles/{profile_id}')['profile'])
        for profile_id in {cluster['profile_id'], *(node['profile_id'] for node in nodes)}
    }
    own = profiles.pop(cluster['profile_id'])
    bindings, types = [], Registry.installed().types
    for bound in get(f'/clusters/{cluster["id"]}/policies')['cluster_policies']:
        policy = get(f'/policies/{bound["policy_id"]}')['policy']
        if policy['type'] in types:
            about = {'id': policy['id'], 'name': policy['name'], 'spec': policy['spec']}
            bindings.append({**bound, **about, 'data': bound['data'] or {}})
        else:
            notes.append(f'Left out: policy {policy["name"]}, which runs in Senlin')
    if any('placement' not in (node['data'] or {}) for node in nodes):
        notes.append('Nodes without data.placement are in zones that a worker looks up in Nova')
    action, inputs = _action(change)
    described = {
        'target': 'BEFORE',
        'action': {'id': str(uuid.uuid4()), 'action': action, 'inputs': inputs},
        'cluster': {**cluster, 'profile': own, 'nodes': [_node(n, profiles) for n in nodes]},
        'policies': bindings,
    }
    return codec.decode(described, CheckRequest)


def _profile(profile: Mapping[str, Any]) -> dict[str, Any]:
    return {**profile, 'properties': profile['spec'].get('properties') or {}}


def _node(node: Mapping[str, Any], profiles: Mapping[str, Any]) -> dict[str, Any]:
    failed, marked = node['status'] == 'ERROR', 'protected' in (node['metadata'] or {})
    return {
        **node,
        'status_reason': node['status_reason'] if failed else None,
        'updated_at': node['updated_at'] if failed else None,
        'data': node['data'] or {},
        'metadata': node['metadata'] if marked else None,
        'profile': profiles.get(node['profile_id']),
    }


def _request_of_heat(cloud: Any, names: list[str], change: int, notes: list[str]) -> CheckRequest:
    get = _getter(cloud.orchestration)
    stack, name = names
    owner, path = _stack(get, stack)
    group = get(f'{path}/resources/{quote(name, safe="")}')['resource']
    if not group['physical_resource_id']:
        raise errors.ConfigurationError(
            f'{name} of stack {stack} has no members yet, or is no group; check the name'
        )
    _, nested = _stack(get, group['physical_resource_id'])
    definitions = get(f'{nested}/template').get('resources') or {}
    members = []
    for row in get(f'{nested}/resources')['resources']:
        did, _, status = row['resource_status'].partition('_')
        row |= {'resource_action': did, 'resource_status': status}
        definition = definitions.get(row['resource_name'], {})
        zone = (definition.get('properties') or {}).get(plans.ZONE_PROPERTY)
        members.append(plans.member(row['resource_name'], zone, row))
    resources = get(f'{path}/template').get('resources') or {}
    stated = (resources.get(name, {}).get('properties') or {}).get('placement') or {}
    placement = {'zones': None, 'deletion': _DELETION, **stated}
    # A function such as get_param is no zone.
    if not _is_valid(worker_choice.zone_spec(placement)):
        zones = _zones(cloud).items()
        placement['zones'] = [{'name': zone} for zone, available in zones if available]
        notes.append('The template states no placement without functions: these are all zones')
    if not _is_valid(worker_choice.deletion_spec(placement)):
        placement['deletion'] = _DELETION
        notes.append('The template states no deletion without functions: this is the default')
    described = worker_choice.Group(
        id=group['physical_resource_id'],
        name=f'{owner["stack_name"]}/{name}',
        user=None,
        project=owner['parameters'].get('OS::project_id'),
        placement=placement,
        credentials=Credentials(),
    )
    notes.append("Heat's API does not say which members are outdated, and which zones were short")
    return worker_choice.check_request(described, members, *_action(change))


def _is_valid(spec: Spec) -> bool:
    try:
        Registry.installed().policy(spec, '$')
    except errors.InvalidSpec:
        return False
    return True


def _stack(get: _Get, name: str) -> tuple[Any, str]:
    """Return a stack, and its path with name and id, from which Heat does not redirect."""
    stack = get(f'/stacks/{quote(name, safe="")}')['stack']
    return stack, f'/stacks/{stack["stack_name"]}/{stack["id"]}'
