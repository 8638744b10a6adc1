"""The lines of the log about each request."""

import datetime
import functools
import logging
from collections.abc import Callable, Sequence

from typing_extensions import override

from placement_worker.contract import rpc
from placement_worker.contract.model import Cluster, Decision
from placement_worker.errors import PolicyTypeNotFound, Refused
from placement_worker.events.types import (
    BindingEnded,
    CheckEnded,
    CordonUnknown,
    Event,
    Listener,
    RebalancePlanned,
    RequestFailed,
)
from placement_worker.formats.text import escaped, listed, shortened
from placement_worker.handlers.decision_state import Expiry
from placement_worker.policies.load_balancing.policy import LoadBalancing

LOG = logging.getLogger(__name__)
_now = functools.partial(datetime.datetime.now, datetime.UTC)
SLOW_S = 5.0
"""The duration of a decision from which on the log names it as slow."""
MAX_REASON = 500
"""The number of characters of a reason that a line shows."""


class RequestLog(Listener):
    """Listener that logs a line per reply, one per warning in it, and one per refused request.

    The line of a reply with the status ERROR has the level WARNING and the reason.
    An engine that casts a request and names no `reply_to` learns of a refusal only from the log. A
    refusal has the level WARNING if the worker lacks a policy type, since an operator must act.
    A policy that took long has a line at WARNING, and so has a reply after the request expired. A
    cordon of an unknown place has one line in the lifetime of the object, though the replies to all
    checks that it concerns have a warning.
    """

    def __init__(self, now: Callable[[], datetime.datetime] = _now) -> None:
        """Start without reported cordons.

        :param now: the time of day, for the expiry of requests.
        """
        self._now = now
        self._cordons: set[str] = set()
        self._texts: set[str] = set()

    @override
    def handle(self, event: Event) -> None:
        match event:
            case CheckEnded(request, reply, elapsed_s):
                action = request.action
                what = f'{request.target} {action.action} {action.id!r:.80}'
                data = reply.action.data
                _log(what, request.cluster, data['status'], data['reason'], elapsed_s)
                warnings = [one for one in reply.warnings if one not in self._texts]
                _log_warnings(what, request.cluster, warnings)
                if elapsed_s >= SLOW_S:
                    late_s = -Expiry(request.expires_at, self._now).left_s()
                    _log_slow(what, request.cluster, reply.decisions, late_s)
            case BindingEnded(method, binding, bound, policy_name, _, elapsed_s):
                what = f'{method} of {policy_name}'
                _log(what, binding.cluster, bound.status, bound.reason, elapsed_s)
                _log_warnings(what, binding.cluster, bound.warnings)
            case RebalancePlanned(asked, planned, elapsed_s):
                what = rpc.POLICY_REBALANCE.name
                _log(what, asked.cluster, planned.status, planned.reason, elapsed_s)
                _log_warnings(what, asked.cluster, planned.warnings)
            case CordonUnknown(cordon, text):
                if cordon not in self._cordons:
                    LOG.warning('%s', text)
                self._cordons.add(cordon)
                self._texts.add(text)
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


def _log_slow(what: str, cluster: Cluster, decisions: Sequence[Decision], late_s: float) -> None:
    """Log the slow policies of a check.

    Load balancing waits for Octavia, so it is slow only if the reply is late.
    """
    own = f'{LoadBalancing.name}-'
    slow = [
        one
        for one in decisions
        if one.elapsed_ms >= SLOW_S * 1000 and (late_s > 0 or not one.policy_type.startswith(own))
    ]
    slow.sort(key=lambda one: -one.elapsed_ms)
    times = [f'{one.policy_type} {one.elapsed_ms / 1000:.1f} s' for one in slow]
    if late_s > 0:
        LOG.warning(
            '%s of cluster %.80r: the reply is %.1f s late, so the caller has given up; slow '
            'policies: %s',
            what,
            cluster.id,
            late_s,
            listed(times) or 'none',
        )
    elif times:
        LOG.warning('%s of cluster %.80r: slow policies: %s', what, cluster.id, listed(times))
