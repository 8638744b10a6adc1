"""A systemd for the container engine of `docker`: units whose start runs their container."""

from types import SimpleNamespace
from typing import Any

import docker  # the package beside this module


class Manager:
    """The requests of kolla-ansible to systemd."""

    def __init__(self, *_: Any) -> None:
        self._state = docker.load()

    def StartUnit(self, unit: str, _: str) -> None:  # noqa: N802  # the name on the bus
        """Start the container of a unit."""
        self._set(unit, 'running')

    RestartUnit = StartUnit

    def StopUnit(self, unit: str, _: str) -> None:  # noqa: N802
        """Stop the container of a unit."""
        self._set(unit, 'exited')

    def ListUnits(self) -> list[tuple[str, ...]]:  # noqa: N802
        """Return the unit of each container."""
        return [
            (f'kolla-{name}-container.service', '', '', '', self._unit_state(container))
            for name, container in self._state['containers'].items()
        ]

    def _unit_state(self, container: dict[str, Any]) -> str:
        return 'running' if container['State']['Status'] == 'running' else 'dead'

    def _set(self, unit: str, status: str) -> None:
        name = unit.removeprefix('kolla-').removesuffix('-container.service')
        self._state = docker.load()
        self._state['containers'][name]['State']['Status'] = status
        docker.save(self._state)


def SystemBus() -> SimpleNamespace:  # noqa: N802
    """Return the bus."""
    return SimpleNamespace(get_object=lambda *_: None)


Interface = Manager
