"""The lines of the log about each request, and what a request without a reply was about.

An engine that casts a request and names no `reply_to` learns of a refusal only from the log.
"""

import datetime
import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from typing_extensions import override

from placement_worker.contract import codec, rpc
from placement_worker.contract.model import Cluster, Decision
from placement_worker.errors import InvalidRequest, PolicyTypeNotFound, Refused
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
from placement_worker.handlers.decision_state import seconds_left
from placement_worker.policies.load_balancing.policy import LoadBalancing

LOG = logging.getLogger(__name__)
# The duration of a decision from which on the log names it as slow.
SLOW_S = 5.0
# The number of characters of a reason that a line shows.
MAX_REASON = 500

_NOTHING = msgspec.Raw(b'null')


class _Keys(msgspec.Struct, frozen=True):
    """The keys of a request that say what it is about; the values may be of any form."""

    target: Any = None
    action: msgspec.Raw = _NOTHING
    cluster: msgspec.Raw = _NOTHING


class _Object(msgspec.Struct, frozen=True):
    id: Any = None
    action: Any = None


def subject_of(raw: object, max_bytes: int | None = None) -> str:
    """Return what a request is about, e.g. "BEFORE CLUSTER_RESIZE 'a1' of cluster 'c1': ".

    Parts that the request lacks or that cannot be decoded are left out.

    :param raw: the request as plain data or as a JSON string.
    :param max_bytes: the largest size of a JSON string that is decoded; None for any size.
    """
    if not isinstance(raw, (dict, str)):
        return ''
    if isinstance(raw, dict):
        # The rest of an action or a cluster may be what JSON cannot hold.
        raw = {key: _named(value) for key, value in raw.items()}
    try:
        keys = codec.excerpt(raw, _Keys, max_bytes)
    except InvalidRequest:
        return ''
    action, cluster = (codec.decoded_or_none(part, _Object) for part in (keys.action, keys.cluster))
    words = []
    if action:
        words += [*map(_word, (keys.target, action.action)), _id(action.id)]
    if cluster and (name := _id(cluster.id)):
        words += ['of cluster' if any(words) else 'Cluster', name]
    text = ' '.join(filter(None, words))
    return f'{text}: ' if text else ''


def _named(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: value[key] for key in _Object.__struct_fields__ if key in value}


def _word(value: object) -> str:
    return escaped(shortened(value)) if isinstance(value, str) else ''


def _id(value: object) -> str:
    return f'{value!r:.80}' if isinstance(value, str) else ''


class RequestLog(Listener):
    """Listener that logs a line per reply, one per warning in it, and one per refused request.

    Lines that an operator must act on have the level WARNING. A cordon of an unknown place has one
    line in the lifetime of the object, though all checks that it concerns have a warning.
    """

    def __init__(self, now: Callable[[], datetime.datetime]) -> None:
        self._now = now
        self._cordons: set[str] = set()
        self._texts: set[str] = set()

    @override
    def handle(self, event: Event) -> None:
        match event:
            case CheckEnded(request, reply, elapsed_s):
                action = request.action
                subject = f'{request.target} {action.action} {action.id!r:.80}'
                data = reply.action.data
                warnings = [text for text in reply.warnings if text not in self._texts]
                outcome = data['status'], data['reason'], warnings
                _log(subject, request.cluster, elapsed_s, *outcome)
                if elapsed_s >= SLOW_S:
                    late_s = -seconds_left(request.expires_at, self._now())
                    _log_slow(subject, request.cluster, reply.decisions, late_s)
            case BindingEnded(method, binding, bound, policy_name, _, elapsed_s):
                outcome = bound.status, bound.reason, bound.warnings
                _log(f'{method} of {policy_name}', binding.cluster, elapsed_s, *outcome)
            case RebalancePlanned(rebalance, planned, elapsed_s):
                outcome = planned.status, planned.reason, planned.warnings
                _log(rpc.POLICY_REBALANCE.name, rebalance.cluster, elapsed_s, *outcome)
            case CordonUnknown(cordon, text):
                if cordon not in self._cordons:
                    LOG.warning('%s', text)
                self._cordons.add(cordon)
                self._texts.add(text)
            case RequestFailed(method, Refused() as error, subject=subject):
                level = logging.WARNING if isinstance(error, PolicyTypeNotFound) else logging.INFO
                LOG.log(level, '%s%s refused: %s: %s', subject, method, type(error).__name__, error)


def _log(
    subject: str,
    cluster: Cluster,
    elapsed_s: float,
    status: str,
    reason: str,
    warnings: Sequence[str],
) -> None:
    elapsed_ms = elapsed_s * 1000
    if status == 'ERROR':
        why = shortened(escaped(reason), MAX_REASON)
        LOG.warning(
            '%s of cluster %.80r: ERROR in %.1f ms: %s', subject, cluster.id, elapsed_ms, why
        )
    else:
        LOG.info('%s of cluster %.80r: %s in %.1f ms', subject, cluster.id, status, elapsed_ms)
    for warning in warnings:
        LOG.warning('%s of cluster %.80r: %s', subject, cluster.id, warning)


def _log_slow(subject: str, cluster: Cluster, decisions: Sequence[Decision], late_s: float) -> None:
    """Log the slow policies of a check.

    Load balancing waits for Octavia, so it is slow only if the reply is late.
    """
    own = f'{LoadBalancing.name}-'
    slow = [
        decision
        for decision in decisions
        if decision.elapsed_ms >= SLOW_S * 1000
        and (late_s > 0 or not decision.policy_type.startswith(own))
    ]
    slow.sort(key=lambda decision: -decision.elapsed_ms)
    times = [f'{decision.policy_type} {decision.elapsed_ms / 1000:.1f} s' for decision in slow]
    if late_s > 0:
        LOG.warning(
            '%s of cluster %.80r: the reply is %.1f s late, so the caller has given up; slow '
            'policies: %s',
            subject,
            cluster.id,
            late_s,
            listed(times) or 'none',
        )
    elif times:
        LOG.warning('%s of cluster %.80r: slow policies: %s', subject, cluster.id, listed(times))
