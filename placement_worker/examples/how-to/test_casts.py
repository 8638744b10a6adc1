"""Test actions.py with a worker in this process, which decides each cast at once."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.errors import PlacementWorkerError
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

HERE = Path(__file__).parent


class CastClient:
    """A client that passes each reply to the callback twice, as a broker may do."""

    def __init__(self, on_reply: Any) -> None:
        cloud = Inventory.load(str(HERE / 'cloud.yaml'))
        self.worker, self.on_reply = InProcessCaller(cloud, Registry.installed()), on_reply

    def cast_check(self, request: Any, reply_to: object, context: Any) -> None:
        """Decide the check, and pass the reply or the error to the engine."""
        try:
            reply: Any = self.worker.policy_check(request)
        except PlacementWorkerError as exc:
            reply = exc
        for _ in range(2):
            self.on_reply(context['request_id'], reply)


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """A function that carries out an action to its end, and returns its changes of state."""
    monkeypatch.chdir(tmp_path)  # the engine creates its database in the current folder
    actions, stored_actions = map(importlib.import_module, ('actions', 'stored_actions'))

    def carry_out(**changed: Any) -> list[str]:
        action = {'id': tmp_path.name, 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 1}}
        stored = yaml.safe_load((HERE / 'cluster.yaml').read_text())
        stored_actions.add(stored | {'action': action} | changed)
        client: Any = CastClient(stored_actions.on_reply)
        while found := stored_actions.open_actions():
            actions.step(client, *found[0], set())
        return [line.split(': ')[1] for line in capsys.readouterr().out.splitlines()]

    return carry_out


def test_repeated_replies_carry_out_an_action_once(states: Any) -> None:
    """Each state is left once."""
    assert states()[1:] == ['BEFORE -> ACT', 'ACT -> AFTER', 'AFTER -> DONE']


def test_refused_check_fails_the_action(states: Any) -> None:
    """An error in place of a reply ends the action."""
    assert states(cluster={'id': 'c1'})[1:] == ['BEFORE -> FAILED']
