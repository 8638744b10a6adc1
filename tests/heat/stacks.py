"""Stacks with one group, as Heat, Nova and the workers' decision logs show them."""

import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keystoneauth1.exceptions import NotFound

from tests.heat.heat_cloud import HeatCloud
from tests.heat.templates import GATE, PLACED, Json, Template
from tests.waiting import wait_for

STACK_S, PAUSE_S = 300, 0.5


@dataclass(frozen=True)
class Member:
    """A member of a group whose resource is a server, as Nova shows it."""

    name: str
    server: str
    zone: str


class Stack:
    """A stack of the user `demo` with a group and scaling policies."""

    def __init__(self, cloud: HeatCloud, type_: str = PLACED, **properties: Any) -> None:
        """`properties` are those of the group that differ from the defaults."""
        self.path = ''  # in the API, after the creation; without its id, Heat would redirect
        self.cloud, self.heat = cloud, cloud.heat
        self.name = f'stack-{uuid.uuid4().hex[:8]}'
        self.template = Template(type_, properties)
        self._last_update: str | None = None

    def create(self, size: int, expected: str = 'CREATE_COMPLETE') -> 'Stack':
        self.send_create(size)
        return self.wait_for(expected)

    def send_create(self, size: int) -> 'Stack':
        self.template.properties['desired_capacity'] = size
        body = self.template.body()
        made = self.heat.request('POST', '/stacks', stack_name=self.name, **body).json()
        self.path = f'/stacks/{self.name}/{made["stack"]["id"]}'
        return self

    def update(self, expected: str = 'UPDATE_COMPLETE', **properties: Any) -> None:
        self.send_update(**properties)
        self.wait_for_update(expected)

    def send_update(self, **properties: Any) -> None:
        self._last_update = self.show()['updated_time']
        self.template.properties.update(properties)
        self.heat.request('PUT', self.path, **self.template.body())

    def wait_for_update(self, expected: str = 'UPDATE_COMPLETE') -> None:
        until(lambda: self.show()['updated_time'] != self._last_update)
        self.wait_for(expected)

    def signal(self, resource: str, **details: str) -> None:
        self.heat.request('POST', f'{self.path}/resources/{resource}/signal', **details)

    def open_gate(self) -> None:
        self.signal(GATE, status='SUCCESS')

    def break_gate(self) -> None:
        self.signal(GATE, status='FAILURE')

    def alarm_url(self, policy: str) -> str:
        shown = self.heat.get(f'{self.path}/resources/{policy}?with_attr=alarm_url')
        return str(shown['resource']['attributes']['alarm_url'])

    def scale(self, policy: str, size: int) -> None:
        self.signal(policy)
        self.wait_for_size(size)

    def wait_for_size(self, size: int) -> None:
        until(lambda: self._is_scaled(size))

    def wait_for(self, expected: str) -> 'Stack':
        """An update that is rolled back fails before."""
        ends = {f'{expected.partition("_")[0]}_{end}' for end in ('COMPLETE', 'FAILED')}
        until(lambda: self.show()['stack_status'] in ends)
        shown = self.show()
        assert shown['stack_status'] == expected, shown['stack_status_reason']
        return self

    def wait_for_resource(self, name: str, expected: str) -> None:
        def has_status() -> bool:
            try:
                return bool(self.resource(name)['resource_status'] == expected)
            except NotFound:  # the update has not added it yet
                return False

        until(has_status)

    def _is_scaled(self, size: int) -> bool:
        statuses = [row['resource_status'] for row in self.rows()]
        if len(statuses) != size or not all(status.endswith('_COMPLETE') for status in statuses):
            return False
        metadata = self.heat.get(f'{self.path}/resources/group/metadata')['metadata']
        nested = self.heat.get(f'/stacks/{self._nested_id()}')['stack']['stack_status']
        return not metadata.get('scaling_in_progress') and not nested.endswith('IN_PROGRESS')

    def show(self) -> Json:
        return dict(self.heat.get(self.path)['stack'])

    def resource(self, name: str) -> Json:
        return dict(self.heat.get(f'{self.path}/resources/{name}')['resource'])

    def events(self, resource: str = 'group') -> list[Json]:
        """The last one first."""
        path = f'{self.path}/resources/{resource}/events?sort_dir=desc'
        return list(self.heat.get(path)['events'])

    def failed_signals(self) -> list[str]:
        """Return the reasons of signals that failed, the last one first."""
        return [
            event['resource_status_reason']
            for event in self.events()
            if event['resource_status'] == 'SIGNAL_FAILED'
        ]

    def completed_signals(self, policy: str) -> int:
        statuses = [event['resource_status'] for event in self.events(policy)]
        return statuses.count('SIGNAL_COMPLETE')

    def failed_members(self) -> list[str]:
        failed = [row for row in self.rows() if row['resource_status'].endswith('_FAILED')]
        return [row['resource_name'] for row in failed]

    def releases(self) -> set[str | None]:
        own = {member.server for member in self.members()}
        return {
            server.metadata.get('release')
            for server in self.cloud.compute.servers()
            if server.id in own
        }

    def mark_unhealthy(self, member: str) -> None:
        body = {'mark_unhealthy': True, 'resource_status_reason': 'lost'}
        self.heat.request('PATCH', f'{self._nested_path()}/resources/{member}', **body)

    def rows(self) -> list[Json]:
        path = self._nested_path()
        return list(self.heat.get(f'{path}/resources')['resources']) if path else []

    def _nested_path(self) -> str:
        nested = self._nested_id()
        if not nested:
            return ''
        name = self.heat.get(f'/stacks/{nested}')['stack']['stack_name']
        return f'/stacks/{name}/{nested}'

    def _nested_id(self) -> str:
        return str(self.resource('group')['physical_resource_id'] or '')

    def members(self) -> list[Member]:
        """Return the members whose server exists, in the order of their names."""
        servers = {server.id: server.availability_zone for server in self.cloud.compute.servers()}
        found = [(row['resource_name'], row['physical_resource_id']) for row in self.rows()]
        return sorted(
            (Member(name, id_, servers[id_]) for name, id_ in found if id_ in servers),
            key=lambda member: member.name,
        )

    def zones(self) -> Counter[str]:
        return Counter(member.zone for member in self.members())

    def decisions(self) -> list[Json]:
        name = f'{self.name}/group'
        return [
            record
            for record in self.cloud.decisions(name)
            if (record['request'].get('cluster') or {}).get('name') == name
        ]


def until(condition: Callable[[], object]) -> None:
    """Return when a condition is true; requests to Heat are too expensive to repeat often."""
    wait_for(condition, STACK_S, PAUSE_S)


def create_together(stacks: list[Stack], size: int) -> None:
    for stack in stacks:
        stack.send_create(size)
    for stack in stacks:
        stack.wait_for('CREATE_COMPLETE')
