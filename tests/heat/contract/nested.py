"""The nested stack of a group, as Heat's RPC client shows it."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


class NestedStack:
    """A stack with members in an order of age; `failed` ones could not be created."""

    def __init__(self, definitions: Mapping[str, Json], failed: tuple[str, ...] = ()) -> None:
        self._definitions, self._failed = definitions, failed

    def list_stack_resources(self, _context: object, _identity: object) -> list[Json]:
        return [self._row(i, name) for i, name in enumerate(self._definitions)]

    def get_template(self, _context: object, _identity: object) -> Json:
        return {'heat_template_version': '2015-04-30', 'resources': dict(self._definitions)}

    def _row(self, index: int, name: str) -> Json:
        status = 'FAILED' if name in self._failed else 'COMPLETE'
        return {
            'resource_name': name,
            'resource_action': 'CREATE',
            'resource_status': status,
            'resource_status_reason': 'No valid host was found',
            'creation_time': f'2026-11-22T20:00:{index:02}Z',
            'updated_time': f'2026-11-22T20:00:{index:02}Z',
        }
