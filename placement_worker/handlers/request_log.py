"""The lines of the log about each request."""

import logging
from collections.abc import Sequence

from typing_extensions import override

from placement_worker.contract import rpc
from placement_worker.contract.cluster import Cluster
from placement_worker.errors import PolicyTypeNotFound, Refused
from placement_worker.events.listener import Listener
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    CordonUnknown,
    Event,
    RebalancePlanned,
    RequestFailed,
)
from placement_worker.formats.text import escaped, shortened

LOG = logging.getLogger(__name__)
MAX_REASON = 500
"""The number of characters of a reason that a line shows."""


class RequestLog(Listener):
    """Listener that logs a line per reply, one per warning in it, and one per refused request.

    The line of a reply with the status ERROR has the level WARNING and the reason.
    An engine that casts a request and names no `reply_to` learns of a refusal only from the log. A
    refusal has the level WARNING if the worker lacks a policy type, since an operator must act.
    A cordon of an unknown place has one line in the lifetime of the object.
    """

    def __init__(self) -> None:
        """Start without reported cordons."""
        self._cordons: set[str] = set()

    @override
    def handle(self, event: Event) -> None:
        match event:
            case CheckEnded(request, reply, elapsed_s):
                action = request.action
                what = f'{request.target} {action.action} {action.id!r:.80}'
                data = reply.action.data
                _log(what, request.cluster, data['status'], data['reason'], elapsed_s)
                _log_warnings(what, request.cluster, reply.warnings)
            case BindingEnded(method, binding, bound, policy_name, _, elapsed_s):
                what = f'{method} of {policy_name}'
                _log(what, binding.cluster, bound.status, bound.reason, elapsed_s)
                _log_warnings(what, binding.cluster, bound.warnings)
            case RebalancePlanned(asked, planned, elapsed_s):
                what = rpc.POLICY_REBALANCE.name
                _log(what, asked.cluster, planned.status, planned.reason, elapsed_s)
                _log_warnings(what, asked.cluster, planned.warnings)
            case CordonUnknown(cordon, text) if cordon not in self._cordons:
                self._cordons.add(cordon)
                LOG.warning('%s', text)
            case RequestFailed(method, Refused() as error, subject=subject):
                level = logging.WARNING if isinstance(error, PolicyTypeNotFound) else logging.INFO
                LOG.log(level, '%s%s refused: %s: %s', subject, method, type(error).__name__, error)


def _log(what: str, cluster: Cluster, status: str, reason: str, elapsed_s: float) -> None:
    elapsed_ms = elapsed_s * 1000
    if status == 'ERROR':
        why = shortened(escaped(reason), MAX_REASON)
        LOG.warning('%s of cluster %.80r: ERROR in %.1f ms: %s', what, cluster.id, elapsed_ms, why)
    else:
        LOG.info('%s of cluster %.80r: %s in %.1f ms', what, cluster.id, status, elapsed_ms)


def _log_warnings(what: str, cluster: Cluster, warnings: Sequence[str]) -> None:
    for warning in warnings:
        LOG.warning('%s of cluster %.80r: %s', what, cluster.id, warning)
