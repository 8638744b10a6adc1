"""Test retry.py: no worker at first, a lost reply, an expired request."""

from pathlib import Path
from typing import Any

import pytest
import retry
import yaml
from typing_extensions import override

from placement_worker.cloud.embedded.inventory import Inventory
from placement_worker.contract.model import CheckReply
from placement_worker.errors import NoWorkerAnswered
from placement_worker.handlers.in_process import InProcessCaller
from placement_worker.policies.registry import Registry

HERE = Path(__file__).parent


class FailingOnce(InProcessCaller):
    """A worker whose first reply is lost, or that does not get the first request."""

    is_absent, calls = False, 0

    @override
    def policy_check(self, request: Any, context: Any = None) -> CheckReply:
        self.calls += 1
        if self.calls > 1:
            return super().policy_check(request, context)
        if not self.is_absent:
            super().policy_check(request, context)  # its reply is lost
        raise NoWorkerAnswered('test')


@pytest.mark.parametrize('is_absent', [True, False])
def test_check_without_a_reply_is_sent_again(monkeypatch: Any, is_absent: bool) -> None:
    """The engine gets the plan by its second request, also if the first one was handled."""
    data = asked(monkeypatch, is_absent)
    assert data['placement']['placements'] == [{'zone': 'az3'}]


def test_expired_check_fails_the_action_in_the_end(monkeypatch: Any) -> None:
    """An `expires_at` in the past is the reason of each reply."""
    assert asked(monkeypatch, expires_at='2026-01-01T00:00:00Z')['reason'] == retry.EXPIRED


def asked(monkeypatch: Any, is_absent: bool = True, **keys: Any) -> Any:
    """Return the data of the last reply to a check of the engine."""
    monkeypatch.setattr(retry, 'PAUSES_S', (0, 0))
    worker = FailingOnce(Inventory.load(str(HERE / 'cloud.yaml')), Registry.installed())
    worker.is_absent = is_absent
    action = {'id': 'a1', 'action': 'CLUSTER_SCALE_OUT', 'inputs': {'count': 1}}
    stored = yaml.safe_load((HERE / 'cluster.yaml').read_text())
    return retry.check(worker, {'target': 'BEFORE', 'action': action, **stored, **keys}).action.data
