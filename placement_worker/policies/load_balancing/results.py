"""The result of changing the members of a pool: its details and its reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from placement_worker.contract.model import NodePatch
from placement_worker.errors import LoadBalancerFailed, RequestExpired
from placement_worker.formats.text import counted
from placement_worker.octavia.pools import Additions
from placement_worker.octavia.updater import Statistics
from placement_worker.policies.base import Outcome

NOT_ADDED = 'Failed in adding nodes into lb pool'
NOT_REMOVED = 'Failed in removing deleted node(s) from lb pool'
OF_A_NODE = {
    NOT_ADDED: 'Failed in adding node into lb pool.',
    NOT_REMOVED: 'Failed in removing node from lb pool.',
}
"""Per-node failure messages."""
UPDATE_S = 1.0
"""The approximate duration of an update of a load balancer; 0.5 to 1.5 s were measured."""


@dataclass
class Result:
    """The nodes that were added and removed, as `details` lists them.

    :ivar failed: node id -> cause.
    :ivar members: node id -> id of a member that the policy added.
    :ivar expired: whether the request expired before the changes were complete.
    """

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    already_there: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    expired: bool = False

    def include(self, additions: Additions) -> None:
        """Include the outcome of adding members."""
        self.added += additions.added
        self.already_there += [*additions.adopted, *additions.foreign]
        self.members |= {**additions.added, **additions.adopted}
        self.failed |= additions.failed
        self.expired = self.expired or additions.expired

    def summary(self, prefix: str = '') -> str:
        """Return the counts in words.

        :param prefix: precedes the changes, for those that are still to be made.
        """
        counts = {
            f'{prefix}removed': self.removed,
            f'{prefix}added': self.added,
            'in the pool already': self.already_there,
        }
        parts = [f'{len(ids)} {what}' for what, ids in counts.items() if ids]
        return ', '.join(parts) or 'Nothing to change'

    def details(self, pool_id: str, statistics: Statistics) -> dict[str, Any]:
        """Return the details of the decision."""
        return {
            **self._nodes(pool_id, statistics),
            'updates': statistics.updates,
            'waited_s': round(statistics.waited_s, 3),
        }

    def outcome(
        self,
        failure: str,
        pool_id: str,
        statistics: Statistics,
        patches: Mapping[str, NodePatch],
    ) -> Outcome:
        """Return the outcome of the policy.

        :param failure: the message if nodes have failed.
        :raises RequestExpired: the request expired.
        :raises LoadBalancerFailed: nodes have failed; `nodes` has the patches.
        """
        details = self.details(pool_id, statistics)
        if self.expired:
            raise RequestExpired('Request expired', details, patches)
        if self.failed:
            raise LoadBalancerFailed(failure_text(failure, self.failed), details, patches)
        return Outcome('APPLIED', self.summary(), nodes=patches, details=details)

    def planned_outcome(self, pool_id: str, statistics: Statistics, updates: int) -> Outcome:
        """Return the outcome of a dry run.

        :param updates: the number of updates that the changes would take.
        """
        reason = f'{self.summary("to be ")}, in {counted(updates, "update")}; nothing was written'
        details = {
            **self._nodes(pool_id, statistics),
            'updates': updates,
            'estimated_s': updates * UPDATE_S,
        }
        return Outcome('APPLIED', reason, details=details)

    def _nodes(self, pool_id: str, statistics: Statistics) -> dict[str, Any]:
        return {
            'pool': pool_id,
            'added': self.added,
            'removed': self.removed,
            'already_there': self.already_there,
            'passed_over': self.passed_over,
            'failed': dict(sorted(self.failed.items())),
            'api_calls': statistics.calls,
        }


def failure_text(failure: str, failed: Mapping[str, str]) -> str:
    """Return a failure as Senlin words it, followed by the cause for the first node.

    :param failed: node id -> cause; not empty.
    """
    node_id, cause = next(iter(failed.items()))
    return f'{failure}: {list(failed)} ({node_id}: {cause})'
