"""Test actions.py with a worker in this process, which decides each cast at once."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

HERE = Path(__file__).parent


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """A function that carries out an action to its end, and returns its changes of state."""
    monkeypatch.chdir(tmp_path)  # the engine creates its database in the current folder
    actions, stored_actions = map(importlib.import_module, ('actions', 'stored_actions'))

    def carry_out(**changed: Any) -> list[str]:
        action = {'id': tmp_path.name, 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 1}}
        stored = yaml.safe_load((HERE / 'cluster.yaml').read_text())
        stored_actions.add(stored | {'action': action} | changed)
        cloud = Inventory.load(str(HERE / 'cloud.yaml'))
        client, to = InProcessCaller(cloud, Registry.installed()), actions.REPLY_TO

        def twice(*reply: Any) -> None:  # a broker may deliver a reply again
            for _ in range(2):
                stored_actions.on_reply(*reply)

        with client.serve_replies(to.exchange, to.topic, twice):
            while found := stored_actions.open_actions():
                actions.step(client, *found[0], set())
        return [line.split(': ')[1] for line in capsys.readouterr().out.splitlines()]

    return carry_out


def test_repeated_replies_carry_out_an_action_once(states: Any) -> None:
    """Each state is left once."""
    assert states()[1:] == ['BEFORE -> ACT', 'ACT -> AFTER', 'AFTER -> DONE']


def test_refused_check_fails_the_action(states: Any) -> None:
    """An error in place of a reply ends the action."""
    policy = {'id': 'p1', 'spec': {'type': 'unknown', 'version': '1.0', 'properties': {}}}

    assert states(policies=[policy])[1:] == ['BEFORE -> FAILED']
