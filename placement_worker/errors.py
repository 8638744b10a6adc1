"""Every error of placement-worker, one sentence each.

Two families matter to callers. A `Refused` request was not well-formed: it reaches the caller as
that exception and nothing was done. A `Rejected` check was well-formed but cannot be decided: the
chain alone turns it into a reply with status ERROR and the exception's text, word for word, as the
reason.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from placement_worker.formats.escaping import escaped

if TYPE_CHECKING:
    from placement_worker.contract.model import NodePatch


class PlacementWorkerError(Exception):
    """The root of every error that this package raises on purpose; its text may quote a request, so
    it is escaped.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(escaped(str(arg)) for arg in args))


class Refused(PlacementWorkerError):
    """The request is not well-formed, and nothing was done."""


class InvalidRequest(Refused):
    """The request does not fit the contract; the text names path, expectation and finding."""


class InvalidSpec(Refused):
    """A policy's properties do not fit the schema of its type, or name what the cloud does not
    know.
    """


class PolicyTypeNotFound(Refused):
    """No installed policy has this type and version."""


class UnsupportedAction(Refused):
    """Senlin has no action of this name."""


class Rejected(PlacementWorkerError):
    """A policy cannot decide; the text becomes the reason of the reply, word for word."""

    def __init__(
        self,
        reason: str,
        details: Mapping[str, Any] | None = None,
        nodes: 'Mapping[str, NodePatch] | None' = None,
    ) -> None:
        """Say why.

        :param details: what explains it.
        :param nodes: what has become of nodes nevertheless, by their ids.
        """
        super().__init__(reason)
        self.details = details or {}
        self.nodes = nodes or {}


class RequestExpired(Rejected):
    """The request came too late: its caller waits no more."""


class InvalidInput(Rejected):
    """An action's inputs or data hold a value that no decision can be based on."""


class SizeOutOfBounds(Rejected):
    """The action would lead to a size that the cluster, the inputs or the service do not allow."""


class NoUsablePlace(Rejected):
    """The cloud knows none of the listed zones or regions as usable."""


class NoFeasiblePlan(Rejected):
    """There are more nodes than can be placed or removed."""


class NotApplicable(Rejected):
    """A policy cannot be attached to a cluster whose profile type it does not support."""


class LoadBalancerFailed(Rejected):
    """A load balancer cannot be made, changed or deleted."""


class LoadBalancerGone(LoadBalancerFailed):
    """A load balancer is not there any more."""


class NotAttached(Rejected):
    """The binding does not say which load balancer the policy was given."""


class CloudUnavailable(Rejected):
    """A cloud service stayed away, or refused to answer."""


class ServiceFailed(CloudUnavailable):
    """A service that was looked up from gave no answer; the text names it and the cause."""


class ServiceRefused(ServiceFailed):
    """A service refused to answer, and would do so again."""


class OutOfTime(ServiceFailed):
    """The time for look-ups was up before a service gave an answer; with more of it there may be
    one.
    """


class CredentialsRefused(Rejected):
    """The request does not say for whom to act, or names somebody else than the cluster's owner."""


class ConfigurationError(PlacementWorkerError):
    """The options do not fit together, or name what is not there."""


class BrokerRefused(PlacementWorkerError):
    """The broker does not let us in: wrong user, password, virtual host or permissions; or we do
    not trust it.
    """


class QueueMismatch(PlacementWorkerError):
    """An exchange or a queue on the broker was made with other options than the worker needs."""


class InvalidInventory(PlacementWorkerError):
    """The embedded cloud's file cannot be read as one."""


class NoWorkerAnswered(PlacementWorkerError):
    """No running worker answered in time."""


class BrokerUnreachable(NoWorkerAnswered):
    """The broker could not be reached, or did not let us in."""


class RequestParked(PlacementWorkerError):
    """Whoever worked on the request died, again and again: it was put aside for an operator to look
    at.
    """


class WorkerFailed(PlacementWorkerError):
    """A worker answered that it failed; its log has the traceback."""


def told(exc: OSError) -> str:
    """What went wrong with which file, without the number that the system gives it."""
    return f'{exc.filename}: {exc.strerror}' if exc.filename and exc.strerror else str(exc)


def fault(exc: Exception) -> str:
    """What a fault says, and in which policy it is, if that was noted."""
    return ' '.join(
        [f'{type(exc).__name__}: {exc}', *(f'({note})' for note in getattr(exc, '__notes__', ()))]
    )


def error_object(exc: Exception) -> dict[str, dict[str, str]]:
    """An error where a reply is data: to a cast, and on a line of the command line.

    A fault of ours is told as such, without what its text may hold.
    """
    if isinstance(exc, PlacementWorkerError):
        return {'error': {'type': type(exc).__name__, 'message': str(exc)}}
    return {
        'error': {
            'type': WorkerFailed.__name__,
            'message': 'The worker failed; its log has the traceback.',
        }
    }
