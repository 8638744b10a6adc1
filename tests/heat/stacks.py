"""Stacks with one group, as Heat, Nova and the workers' decision logs show them."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.cloud import computes
from tests.heat.heat_cloud import HeatCloud
from tests.waiting import wait_for

Json = dict[str, Any]
STACK_S = 300
PLACED, PLAIN = 'OS::Heat::PlacedAutoScalingGroup', 'OS::Heat::AutoScalingGroup'
ZONES = ('az1', 'az2', 'az3')
SERVER: Json = {
    'type': 'OS::Nova::Server',
    'properties': {
        'flavor': '1',
        'image': computes.IMAGE,
        'networks': [{'network': 'private'}],
    },
}
_numbers = itertools.count(1)


def placement(*zones: str, criteria: str = 'OLDEST_FIRST') -> Json:
    """Return the property `placement`."""
    return {
        'zones': [{'name': zone} for zone in zones or ZONES],
        'deletion': {'criteria': criteria},
    }


@dataclass(frozen=True)
class Member:
    """A member of a group whose resource is a server, as Nova shows it."""

    name: str
    server: str
    zone: str


class Stack:
    """A stack of the user `demo` with a group and two scaling policies."""

    def __init__(self, cloud: HeatCloud, type_: str = PLACED, **properties: Any) -> None:
        """Set the template; `create` creates the stack.

        :param properties: properties of the group that differ from the defaults.
        """
        self.cloud, self.heat = cloud, cloud.heat
        self.name = f'stack{next(_numbers)}'
        own = {'placement': placement()} if type_ == PLACED else {}
        self.files: dict[str, str] = {}
        self._others: Json = {}
        self._needs: list[str] = []
        self._rolls_back = False
        self.properties: Json = {
            'min_size': 0, 'max_size': 10, 'resource': SERVER, **own, **properties,
        }  # fmt: skip
        self.type = type_

    def body(self) -> Json:
        """Return the body of a request with the template."""
        policies = {
            name: {
                'type': 'OS::Heat::ScalingPolicy',
                'properties': {
                    'auto_scaling_group_id': {'get_resource': 'group'},
                    'adjustment_type': 'change_in_capacity',
                    'scaling_adjustment': adjustment,
                },
            }
            for name, adjustment in {'grow': 1, 'grow3': 3, 'shrink2': -2}.items()
        }
        group = {
            'type': self.type, 'properties': self.properties, 'depends_on': self._needs,
        }  # fmt: skip
        template = {
            'heat_template_version': '2021-04-16',
            'resources': {'group': group, **policies, **self._others},
        }
        return {
            'template': template, 'files': self.files, 'timeout_mins': 5,
            'disable_rollback': not self._rolls_back,
        }  # fmt: skip

    def create(self, size: int, expected: str = 'CREATE_COMPLETE') -> 'Stack':
        """Create the stack with so many members, and wait for the expected status."""
        self.send_create(size)
        self.wait_for(expected)
        return self

    def send_create(self, size: int) -> None:
        """Create the stack with so many members without waiting."""
        self.properties['desired_capacity'] = size
        self.heat.request('POST', '/stacks', stack_name=self.name, **self.body())

    def delay_group(self) -> None:
        """Let another resource of the template delay the creation of the group."""
        self._others['before'] = _slow(fail=False)
        self._needs = ['before']

    def fail_after_group(self) -> None:
        """Let an update fail some time after the group, and let Heat roll it back."""
        self._others['after'] = {**_slow(fail=True), 'depends_on': ['group']}
        self._rolls_back = True

    def update(self, expected: str = 'UPDATE_COMPLETE', **properties: Any) -> None:
        """Change properties of the group, and wait for the expected status."""
        before = self.show()['updated_time']
        self.send_update(**properties)
        wait_for(lambda: self.show()['updated_time'] != before, STACK_S)
        self.wait_for(expected)

    def send_update(self, **properties: Any) -> None:
        """Change properties of the group without waiting."""
        self.properties.update(properties)
        self.heat.request('PUT', f'/stacks/{self.name}/{self.show()["id"]}', **self.body())

    def signal(self, policy: str) -> None:
        """Send a signal to a scaling policy without waiting."""
        self.heat.request('POST', f'{self.path}/resources/{policy}/signal', current='alarm')

    def alarm_url(self, policy: str) -> str:
        """Return the signed URL of a scaling policy, to which Aodh sends an alarm."""
        shown = self.heat.get(f'{self.path}/resources/{policy}?with_attr=alarm_url')
        return str(shown['resource']['attributes']['alarm_url'])

    def scale(self, policy: str, size: int) -> None:
        """Send a signal to a scaling policy, and wait until the group has the size."""
        self.signal(policy)
        self.wait_for_size(size)

    def wait_for_size(self, size: int) -> None:
        """Return when the group has so many complete members and is not scaled."""
        wait_for(lambda: len(self.rows()) == size and not self._is_changing(), STACK_S)

    def wait_for_complete(self, size: int) -> None:
        """Return when the group has so many members without a failure."""
        wait_for(
            lambda: (
                [self._is_complete(row) for row in self.rows()] == [True] * size
                and not self._is_changing()
            ),
            STACK_S,
        )

    def wait_for(self, expected: str) -> None:
        """Return when the stack has the expected status and no other action runs."""
        wait_for(lambda: not self.show()['stack_status'].endswith('IN_PROGRESS'), STACK_S)
        shown = self.show()
        assert shown['stack_status'] == expected, shown['stack_status_reason']

    @staticmethod
    def _is_complete(row: Json) -> bool:
        return str(row['resource_status']).endswith('_COMPLETE')

    def _is_changing(self) -> bool:
        group = self.heat.get(f'{self.path}/resources/group')['resource']
        metadata = self.heat.get(f'{self.path}/resources/group/metadata')['metadata']
        nested = self.heat.get(f'/stacks/{group["physical_resource_id"]}')['stack']
        return bool(metadata.get('scaling_in_progress')) or nested['stack_status'].endswith(
            'IN_PROGRESS'
        )

    def show(self) -> Json:
        return dict(self.heat.get(f'/stacks/{self.name}')['stack'])

    @property
    def path(self) -> str:
        return f'/stacks/{self.name}/{self.show()["id"]}'

    def events(self, resource: str = 'group') -> list[Json]:
        """Return the events of a resource, the last one first."""
        path = f'{self.path}/resources/{resource}/events?sort_dir=desc'
        return list(self.heat.get(path)['events'])

    def failed_signals(self) -> list[str]:
        """Return the reasons of signals that failed, the last one first."""
        return [
            event['resource_status_reason']
            for event in self.events()
            if event['resource_status'] == 'SIGNAL_FAILED'
        ]

    def failed_members(self) -> list[str]:
        """Return the names of the members that failed."""
        return [
            row['resource_name']
            for row in self.rows()
            if row['resource_status'].endswith('_FAILED')
        ]

    def releases(self) -> set[str | None]:
        """Return the values of the metadata `release` of all servers."""
        compute = self.cloud.connect('demo').compute
        return {
            compute.get_server(member.server).metadata.get('release') for member in self.members()
        }

    def mark_unhealthy(self, member: str) -> None:
        """Mark a member as failed, as a health check does."""
        body = {'mark_unhealthy': True, 'resource_status_reason': 'lost'}
        self.heat.request('PATCH', f'{self._nested_path()}/resources/{member}', **body)

    def rows(self) -> list[Json]:
        """Return the members in Heat's database."""
        path = self._nested_path()
        return list(self.heat.get(f'{path}/resources')['resources']) if path else []

    def _nested_path(self) -> str:
        """Return the path of the nested stack, or '' if there is none."""
        group = self.heat.get(f'{self.path}/resources/group')['resource']
        nested = group['physical_resource_id']
        if not nested:
            return ''
        name = self.heat.get(f'/stacks/{nested}')['stack']['stack_name']
        return f'/stacks/{name}/{nested}'

    def members(self) -> list[Member]:
        """Return the members whose server exists, in the order of their names."""
        servers = {
            server.id: server.availability_zone
            for server in self.cloud.connect('demo').compute.servers()
        }
        found = [(row['resource_name'], row['physical_resource_id']) for row in self.rows()]
        return sorted(
            (Member(name, id_, servers[id_]) for name, id_ in found if id_ in servers),
            key=lambda member: member.name,
        )

    def zones(self) -> Counter[str]:
        """Return how many servers each zone has in Nova."""
        return Counter(member.zone for member in self.members())

    def decisions(self) -> list[Json]:
        """Return what the workers recorded about the group, in order."""
        logs = self.cloud.decision_logs()
        records = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
        return [
            record
            for record in sorted(records, key=lambda record: record['at'])
            if (record['request'].get('cluster') or {}).get('name') == f'{self.name}/group'
        ]


@contextmanager
def without_worker(cloud: HeatCloud) -> Iterator[None]:
    """Kill the worker for a block; it responds again afterwards."""
    cloud.workers['worker1'].kill()
    try:
        yield
    finally:
        cloud.start_worker('worker1')
        cloud.wait_for_worker('worker1')


def _slow(*, fail: bool) -> Json:
    """Return a resource that ends after some seconds."""
    return {'type': 'OS::Heat::TestResource', 'properties': {'wait_secs': 15, 'fail': fail}}


def zones_by_name(members: list[Member]) -> Mapping[str, str]:
    """Return the zone of each member."""
    return {member.name: member.zone for member in members}
