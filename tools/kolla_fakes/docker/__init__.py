"""A container engine in a JSON file, as much of the library `docker` as kolla-ansible uses.

KOLLA_FAKES names the file: its key `image` is the image, and `containers` has the containers.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import errors as errors  # kolla-ansible reads it as an attribute

IMAGE_ID = 'sha256:1'
STATE = Path(os.environ['KOLLA_FAKES'])


def ulimit(name: str, soft: int, hard: int) -> dict[str, Any]:
    """Return a limit as the engine shows it."""
    return {'Name': name, 'Soft': soft, 'Hard': hard}


def log_config(type: str) -> dict[str, Any]:  # noqa: A002  # the library's name
    """Return the settings of the log."""
    return {'Type': type}


log_config.types = SimpleNamespace(NONE='none')  # type: ignore[attr-defined]
types = SimpleNamespace(Ulimit=ulimit, LogConfig=log_config)
utils = SimpleNamespace(parse_repository_tag=lambda name: tuple(name.rsplit(':', 1)))


def load() -> dict[str, Any]:
    """Return the image and the containers."""
    return dict(json.loads(STATE.read_text()))


def save(state: Mapping[str, Any]) -> None:
    """Replace the image and the containers."""
    STATE.write_text(json.dumps(state))


class APIClient:
    """The requests of kolla-ansible, answered from the file."""

    def __init__(self, **_: Any) -> None:
        self._state = load()
        self._exit_code = 0

    def images(self, **_: Any) -> list[dict[str, Any]]:
        """Return the only image; the engine shows missing labels as null."""
        image = self._state['image']
        return [{'Id': IMAGE_ID, 'RepoTags': [image['name']], 'Labels': image['labels'] or None}]

    def pull(self, repository: str, tag: str, **_: Any) -> list[bytes]:
        """Replace the image by another version of it, and return the progress."""
        self._state['image']['name'] = f'{repository}:{tag}'
        save(self._state)
        return [b'{"status": "Image is up to date"}']

    def volumes(self) -> dict[str, Any]:
        """Return no volumes."""
        return {'Volumes': []}

    def containers(self, **_: Any) -> list[dict[str, Any]]:
        """Return a summary of each container."""
        states = {'running': 'Up 1 second (healthy)', 'created': 'Created', 'exited': 'Exited (0)'}
        return [
            {'Names': [f'/{name}'], 'Status': states[container['State']['Status']]}
            for name, container in self._state['containers'].items()
        ]

    def inspect_container(self, name: str) -> dict[str, Any]:
        """Return a container."""
        return dict(self._state['containers'][name])

    def create_host_config(self, **options: Any) -> dict[str, Any]:
        """Return the part of a container that depends on the host."""
        binds = options.get('binds', {}).items()
        return {
            'Binds': [f'{source}:{to["bind"]}:{to["mode"]}' for source, to in binds],
            'CapAdd': options['cap_add'],
            'IpcMode': options['ipc_mode'],
            'PidMode': options['pid_mode'],
            'Privileged': options['privileged'],
            'SecurityOpt': options['security_opt'],
            'Ulimits': options.get('ulimits'),
        }

    def create_container(self, name: str, **options: Any) -> None:
        """Create a container; what the options do not name comes from the image."""
        image = self._state['image']
        given = options.get('healthcheck', {}).items()
        health = {key.title().replace('_', ''): value for key, value in given}
        self._state['containers'][name] = {
            'Image': IMAGE_ID,
            'Path': image['command'][0],
            'Args': options['command'] or image['command'][1:],
            'State': {'Status': 'created'},
            'HostConfig': options['host_config'],
            'Config': {
                'Image': options['image'],
                'Env': [f'{key}={value}' for key, value in options['environment'].items()],
                'Labels': {**image['labels'], **options['labels']},
                'Volumes': {volume: {} for volume in options['volumes']},
                'Healthcheck': health or image['healthcheck'],
            },
        }
        save(self._state)

    def remove_container(self, container: str, **_: Any) -> None:
        """Remove a container."""
        del self._state['containers'][container]
        save(self._state)

    def exec_create(self, name: str, command: list[str], **_: Any) -> list[str]:
        """Find a mounted command; a container has no other ones here."""
        binds = self._state['containers'][name]['HostConfig']['Binds']
        files = {to: source for source, to, _ in (bind.split(':') for bind in binds)}
        return [files[command[0]], *command[1:]] if command[0] in files else []

    def exec_start(self, job: list[str]) -> bytes:
        """Run the command."""
        if not job:
            self._exit_code = 127
            return b'no such file or directory'
        done = subprocess.run(job, check=False, capture_output=True)
        self._exit_code = done.returncode
        return done.stdout

    def exec_inspect(self, _: list[str]) -> dict[str, int]:
        """Return how the command ended."""
        return {'ExitCode': self._exit_code}


class DockerClient:
    """The newer interface of the library, which lists containers as objects."""

    def __init__(self, **_: Any) -> None:
        self.containers = self

    def list(self, **_: Any) -> list[SimpleNamespace]:
        """Return the running containers."""
        return [
            SimpleNamespace(name=name, attrs=container, reload=lambda: None)
            for name, container in load()['containers'].items()
            if container['State']['Status'] == 'running'
        ]
