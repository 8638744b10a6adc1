"""The errors of placement-worker.

Two families matter to callers. A `Refused` request is not well-formed: the caller gets that
exception, and nothing was done. A `Rejected` check is well-formed but cannot be decided: the chain
turns it into a reply with status ERROR, and the text of the exception is the reason.

The dotted path of each class is part of the wire contract, since clients and workers of different
versions exchange exceptions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from placement_worker.formats.text import escaped


class PlacementWorkerError(Exception):
    """An error that this package raises on purpose; its text is escaped: it may quote a request."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(escaped(str(arg)) for arg in args))


class Refused(PlacementWorkerError):
    """The request is not well-formed, and nothing was done."""


class InvalidRequest(Refused):
    """The request does not fit the contract; the text names path, expectation and finding."""


class InvalidSpec(Refused):
    """The properties of a policy do not fit their schema, or name what the cloud lacks."""


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
        nodes: Mapping[str, Any] | None = None,
        warnings: Sequence[str] = (),
    ) -> None:
        """Set the reason of the reply.

        :param details: values that explain the reason, for the decision in the reply.
        :param nodes: the `NodePatch` of each node that was changed before the failure, by node id.
        :param warnings: sentences for the reply, about causes that the reason does not name.
        """
        super().__init__(reason)
        self.details = details or {}
        self.nodes = nodes or {}
        self.warnings = warnings


class RequestExpired(Rejected):
    """The request expired before or during its handling."""


class InvalidInput(Rejected):
    """The inputs or the data of an action hold a value of the wrong type or range."""


class SizeOutOfBounds(Rejected):
    """The action leads to a size that the cluster, the inputs or the service do not allow."""


class NoUsablePlace(Rejected):
    """None of the listed zones or regions is usable in the cloud."""


class NoFeasiblePlan(Rejected):
    """There are more nodes than can be placed or removed."""


class TooSkewed(Rejected):
    """A creation leaves a place too far from its ideal, and the policy spreads strictly."""


class NodeProtected(Rejected):
    """A protected node is named for deletion, or too few other nodes can be deleted."""


class NoPlacement(Rejected):
    """A cluster has no placement policy to rebalance it by, or two policies of one type."""


class NotApplicable(Rejected):
    """A policy cannot be attached to a cluster whose profile type it does not support."""


class LoadBalancerFailed(Rejected):
    """A load balancer cannot be created, changed or deleted."""


class LoadBalancerGone(LoadBalancerFailed):
    """A load balancer no longer exists."""


class TooFewOnline(Rejected):
    """Named nodes cannot leave a pool, because too few of its members would stay online."""


class NotAttached(Rejected):
    """The data of the binding does not name a load balancer."""


class CloudUnavailable(Rejected):
    """A cloud service was unavailable or refused the request."""


class ServiceFailed(CloudUnavailable):
    """A lookup in a cloud service failed; the text names the service and the cause."""

    def __init__(self, reason: str, service: str | None = None) -> None:
        """Set the reason; `service` is the type of the service if it is not the one called."""
        super().__init__(reason)
        self.service = service


class ServiceRefused(ServiceFailed):
    """A service refused the request and would refuse again."""


class OutOfTime(ServiceFailed):
    """The time budget for lookups ended before a service responded; a larger one may suffice."""


class CredentialsRefused(Rejected):
    """The request names no owner to act for, or another one than the owner of the cluster."""


class ConfigurationError(PlacementWorkerError):
    """The options contradict each other, or name something that does not exist."""


class BrokerRefused(PlacementWorkerError):
    """The broker refused access, or its certificate is not trusted.

    Check the user, the password, the virtual host, the permissions and the TLS options.
    """


class QueueMismatch(PlacementWorkerError):
    """An exchange or a queue exists on the broker with other options than the worker needs."""


class InvalidInventory(PlacementWorkerError):
    """The file of the embedded cloud cannot be read, or describes no cloud."""


class NoWorkerAnswered(PlacementWorkerError):
    """No running worker replied in time."""


class BrokerUnreachable(NoWorkerAnswered):
    """The broker could not be reached or did not confirm the request."""


class ClientClosed(PlacementWorkerError):
    """The client was closed before the call or the cast, or while it waited."""


class WorkerTooOld(PlacementWorkerError):
    """The worker has an older version of the contract than the request needs."""


class RequestParked(PlacementWorkerError):
    """The workers that handled the request crashed repeatedly, so it was parked for an operator."""


class ReplyTooLarge(PlacementWorkerError):
    """The request was handled, but the broker does not take a reply of this size."""


class WorkerFailed(PlacementWorkerError):
    """The worker failed with an internal error; its log has the traceback."""


def file_error(exc: OSError) -> str:
    """Return the file and the cause of a system error, without its number."""
    return f'{exc.filename}: {exc.strerror}' if exc.filename and exc.strerror else str(exc)


def with_notes(exc: Exception) -> str:
    """Return the class and the text of an error, and its notes, such as the policy that failed."""
    return ' '.join(
        [f'{type(exc).__name__}: {exc}', *(f'({note})' for note in getattr(exc, '__notes__', ()))]
    )


def received(name: str, text: str) -> PlacementWorkerError:
    """Return an error that was received as data; an unknown class is WorkerFailed."""
    kind = globals().get(name)
    if isinstance(kind, type) and issubclass(kind, PlacementWorkerError):
        return kind(text)
    return WorkerFailed(f'{name}: {text}')


def error_object(exc: Exception) -> dict[str, dict[str, str]]:
    """Return an error as data: for the reply to a cast, and for a line of the command line.

    Hide the text of internal errors: it may contain secrets.
    """
    if not isinstance(exc, PlacementWorkerError):
        exc = WorkerFailed('The worker failed; its log has the traceback.')
    return {'error': {'type': type(exc).__name__, 'message': str(exc)}}
