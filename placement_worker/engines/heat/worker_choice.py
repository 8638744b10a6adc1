"""The choice by a worker."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from placement_worker.contract.model import CheckReply, CheckRequest
from placement_worker.engines.heat import requests
from placement_worker.engines.heat.members import Member
from placement_worker.engines.heat.requests import Group
from placement_worker.errors import Rejected, WorkerFailed

LOG = logging.getLogger(__name__)
Check = Callable[[CheckRequest], CheckReply]
Store = Callable[[dict[str, Any]], object]


class WorkerChooser:
    """Choose victims and zones by the policies of a worker."""

    def __init__(self, check: Check, group: Group, store: Store) -> None:
        """Set the group.

        :param check: sends a request to a worker and returns its reply.
        :param store: stores the data of the group for later requests.
        """
        self._check, self._group, self._store = check, group, store

    def victims(self, members: Sequence[Member], count: int) -> list[str]:
        """Return the victims that the deletion policy chose.

        :raises Rejected: a policy cannot decide.
        :raises WorkerFailed: the reply has another number of victims.
        """
        data = self._decide(requests.shrinkage(self._group, members, count))
        chosen = list(data.get('deletion', {}).get('candidates', []))
        return self._complete(chosen, count, 'victims')

    def zones(self, members: Sequence[Member], count: int) -> list[str]:
        """Return the zones that zone placement planned.

        Heat forgets why a member failed when it creates the member again. The worker must record
        the failures before, or later members would go to a full zone.

        :raises Rejected: a policy cannot decide.
        :raises WorkerFailed: the reply has another number of zones.
        """
        renewed = [member.name for member in members if member.needs_zone]
        if renewed:
            self._decide(requests.removal(self._group, members, renewed))
        data = self._decide(requests.growth(self._group, members, count))
        planned = data.get('placement', {}).get('placements', [])
        return self._complete([entry['zone'] for entry in planned], count, 'zones')

    def _decide(self, request: CheckRequest) -> dict[str, Any]:
        """Return the data of the action after the policies have decided."""
        reply = self._check(request)
        for warning in reply.warnings:
            LOG.warning('Group %s: %s', self._group.name, warning)
        if reply.cluster is not None:
            self._group = replace(self._group, data=reply.cluster.data)
            self._store(reply.cluster.data)
        data = reply.action.data
        LOG.info('Group %s: %s: %s', self._group.name, data['status'], data['reason'])
        if data['status'] != 'OK':
            raise Rejected(data['reason'])
        return data

    def _complete(self, chosen: list[str], count: int, kind: str) -> list[str]:
        """Return the choice, if it has the expected length.

        :raises WorkerFailed: it has another length.
        """
        if len(chosen) != count:
            raise WorkerFailed(
                f'The worker chose {len(chosen)} {kind} for group {self._group.name}, expected '
                f'{count}; its log has the decision'
            )
        return chosen
