"""Undo a failed attachment: remove all objects that it created, or the members that it added."""

from collections.abc import Sequence
from dataclasses import dataclass

from placement_worker.cloud.ports import ApiError
from placement_worker.contract.model import BindRequest
from placement_worker.errors import LoadBalancerFailed, Rejected, RequestExpired
from placement_worker.octavia.load_balancers import OwnLoadBalancers
from placement_worker.octavia.updater import Updater, cause
from placement_worker.policies.load_balancing import existing
from placement_worker.policies.load_balancing.properties import LoadBalancingProperties
from placement_worker.policies.load_balancing.stored import StoredLoadBalancer


@dataclass(frozen=True, slots=True)
class FailedAttachment:
    """An attachment that failed; earlier attempts may have left objects as well.

    :ivar tags: of all objects that belong to the attachment.
    """

    failure: ApiError | Rejected
    properties: LoadBalancingProperties
    request: BindRequest
    updater: Updater
    tags: Sequence[str]

    def undo(self) -> Rejected:
        """Undo the changes of this attempt and of earlier ones, and return the error to raise."""
        reason = cause(self.failure)
        if self._may_undo():
            try:
                self._remove_all(self.updater.for_cleanup())
            except (ApiError, Rejected) as exc:
                made = 'was made for it' if self._has_written else 'an earlier try may have made'
                return LoadBalancerFailed(
                    f'{reason}; what {made} could not be removed: {cause(exc)}'
                )
        return RequestExpired(reason) if self._has_expired else LoadBalancerFailed(reason)

    @property
    def _has_expired(self) -> bool:
        return isinstance(self.failure, RequestExpired)

    @property
    def _has_written(self) -> bool:
        return bool(self.updater.statistics.writes)

    def _may_undo(self) -> bool:
        """Return whether no completed attachment uses the objects with the tags.

        After the expiry another worker may have attached the policy again.
        """
        if StoredLoadBalancer.of(self.request.policy) is not None:
            return False
        return not self._has_expired or self._has_written

    def _remove_all(self, updater: Updater) -> None:
        """Remove the objects with the tags.

        :raises Rejected: an object is still present.
        :raises ApiError: Octavia refused.
        """
        if self.properties.loadbalancer is not None:
            existing.remove_members(updater, self.properties, self.tags)
        else:
            OwnLoadBalancers(updater, self.tags).remove()
