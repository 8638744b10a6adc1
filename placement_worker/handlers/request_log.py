"""The lines of the log about each request."""

import logging
from collections.abc import Sequence

from typing_extensions import override

from placement_worker.contract.cluster import Cluster
from placement_worker.errors import Refused
from placement_worker.events.listener import Listener
from placement_worker.events.types import BindingEnded, CheckEnded, Event, RequestFailed

LOG = logging.getLogger(__name__)


class RequestLog(Listener):
    """Listener that logs a line per reply, one per warning in it, and one per refused request.

    An engine that casts a request and names no `reply_to` learns of a refusal only from the log.
    """

    @override
    def handle(self, event: Event) -> None:
        match event:
            case CheckEnded(request, reply, elapsed_s):
                what = f'{request.target} {request.action.action}'
                status = reply.action.data['status']
                _log(what, request.cluster, status, reply.warnings, elapsed_s)
            case BindingEnded(method, binding, bound, policy_name, _, elapsed_s):
                what = f'{method} of {policy_name}'
                _log(what, binding.cluster, bound.status, bound.warnings, elapsed_s)
            case RequestFailed(method, Refused() as error):
                LOG.info('%s refused: %s: %s', method, type(error).__name__, error)


def _log(
    what: str, cluster: Cluster, status: str, warnings: Sequence[str], elapsed_s: float
) -> None:
    LOG.info('%s of cluster %.80r: %s in %.1f ms', what, cluster.id, status, elapsed_s * 1000)
    for warning in warnings:
        LOG.warning('%s of cluster %.80r: %s', what, cluster.id, warning)
