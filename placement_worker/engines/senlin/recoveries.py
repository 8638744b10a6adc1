"""Checks of policies after the recovery of a node that is part of the recovery of its cluster.

Senlin 16 checks no policy then, so the pool would keep the address of the old server.

:source: senlin/engine/actions/cluster_action.py (`do_recover`) and node_action.py (`execute`) of
    release 16.
"""

import functools
from typing import Any

from senlin.common import consts
from senlin.policies import base

from placement_worker.engines.senlin.worker_client import is_configured


def recovering(original: Any) -> Any:
    """Return `NodeAction.do_recover` with a check of the policies after derived actions too."""

    @functools.wraps(original)
    def do_recover(self: Any) -> tuple[Any, str]:
        result, reason = original(self)
        if result == self.RES_OK and _is_unchecked(self):
            self.policy_check(self.entity.cluster_id, 'AFTER')
            if self.data['status'] == base.CHECK_ERROR:
                return self.RES_ERROR, f'Policy check: {self.data["reason"]}'
        return result, reason

    return do_recover


def _is_unchecked(action: Any) -> bool:
    """Return whether Senlin does not check policies by itself after the action."""
    is_derived = action.cause == consts.CAUSE_DERIVED
    return is_derived and is_configured() and bool(action.entity.cluster_id)
