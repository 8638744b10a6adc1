"""The records of the decision log: a line of JSON per decision.

A record holds everything that a decision depends on, so that it can be replayed: the request, the
responses of the cloud, the readings of clocks, and the settings.
"""

import datetime
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any, Literal

import msgspec
from typing_extensions import override

from placement_worker.cloud.intercepted.interceptor import InterceptedClouds
from placement_worker.cloud.intercepted.recording import Answer, Recording
from placement_worker.contract.model import BindRequest, Package, Wire
from placement_worker.decisions.masking import masked
from placement_worker.handlers.decision_state import Conditions
from placement_worker.handlers.ports import Record, Recorder, Reply, Request
from placement_worker.planning.places import Cordon

LOG = logging.getLogger(__name__)
OCTAVIA_SETTINGS = ('batch_members', 'poll_initial_s', 'poll_max_s', 'max_attempts')
OMITTED = frozenset({'credentials', 'reply_to'})
"""The fields of a request that a record omits: a replay does not need them."""


class Entry(Wire, frozen=True, kw_only=True):
    """A line of the decision log.

    `at`: the time of the decision. `version`: the version of the worker. `host`: its `[worker]
    host`; older records have none. `max_nodes`: the limit of a cluster's size. `cloud`: the calls
    to the cloud with their responses, in order. `clock`: the readings of the clock while a load
    balancer was pending. `left_s`: the readings of the seconds until the request expires.
    `cordons`: the cordons in force at `at`; older records have none. `packages`: name and version
    of each package whose policies the request has, e.g. `acme-policy 1.1`, without those of
    placement-worker.
    """

    at: datetime.datetime
    version: str
    host: str | None = None
    request_id: str | None
    max_nodes: int
    # The log keeps the name `driving` for compatibility with recorded decisions.
    octavia_settings: dict[str, Any] = msgspec.field(name='driving')
    method: Literal['policy_check', 'policy_attach', 'policy_detach', 'policy_rebalance']
    request: msgspec.Raw
    cloud: list[Answer]
    clock: list[float]
    left_s: list[float]
    reply: dict[str, Any]
    cordons: list[Cordon] = []
    packages: list[str] = []


class DecisionLog(Recorder):
    """A recorder that writes a line of JSON per decision."""

    def __init__(
        self,
        append: Callable[[bytes], None],
        host: str | None = None,
        packages: Mapping[str, Package] | None = None,
    ) -> None:
        """Set the destination of the lines.

        :param append: takes one line with its end; must not raise.
        :param host: the host of the worker, which each line names.
        :param packages: the packages of policy types, as `Registry.packages`.
        """
        self._append = append
        self._host = host
        self._packages = packages or {}
        self._version = metadata.version('placement-worker')

    @override
    def begin(self, request_id: str | None, conditions: Conditions) -> Record:
        about = {
            'at': conditions.now,
            'version': self._version,
            'host': self._host,
            'request_id': request_id,
        }
        return _Line(self._append, about, conditions, self._packages)


class _Line(Record):
    """The record of a decision, written as a line when the decision ends."""

    def __init__(
        self,
        append: Callable[[bytes], None],
        about: Mapping[str, Any],
        conditions: Conditions,
        packages: Mapping[str, Package],
    ) -> None:
        self._append = append
        self._packages = packages
        self._about = about
        self._answers: list[Answer] = []
        self._clock: list[float] = []
        self._left_s: list[float] = []
        settings = conditions.octavia_settings
        self._conditions = replace(
            conditions,
            clouds=InterceptedClouds(conditions.clouds, Recording(self._answers)),
            octavia_settings=replace(settings, clock=_noting(settings.clock, self._clock)),
            left_s=_noting(conditions.left_s, self._left_s),
        )

    @property
    @override
    def conditions(self) -> Conditions:
        return self._conditions

    @override
    def end(self, method: str, request: Request, reply: Reply) -> None:
        try:
            line = self._line(method, request, reply)
        except Exception as exc:  # the cloud has been changed, so the caller needs the reply
            request_id = self._about['request_id']
            LOG.error('Failed to record the decision of request %s: %s', request_id, exc)
        else:
            self._append(line + b'\n')

    def _line(self, method: str, request: Request, reply: Reply) -> bytes:
        settings = self._conditions.octavia_settings
        entry = {
            **self._about,
            'max_nodes': self._conditions.max_nodes,
            'driving': {name: getattr(settings, name) for name in OCTAVIA_SETTINGS},
            'method': method,
            'request': _replayable(request),
            'cloud': self._answers,
            'clock': self._clock,
            'left_s': self._left_s,
            'reply': reply,
            'cordons': self._conditions.cordons,
            'packages': _packages_of(request, self._packages) if self._packages else [],
        }
        return masked(msgspec.json.encode(entry))


def _noting(read: Callable[[], float], readings: list[float]) -> Callable[[], float]:
    """Return a function that appends each reading to a list, except infinity, which JSON lacks."""

    def noted() -> float:
        value = read()
        if value != math.inf:
            readings.append(value)
        return value

    return noted


def _packages_of(request: Request, packages: Mapping[str, Package]) -> list[str]:
    """Return name and version of the packages of a request's policies."""
    bound = [request.policy] if isinstance(request, BindRequest) else request.policies
    used = {packages.get(one.spec.type_name) for one in bound if one.enabled}
    return sorted(f'{one.name} {one.version}' for one in used if one)


def _replayable(request: Request) -> dict[str, Any]:
    """Return the fields of a request that a replay needs; the others have defaults."""
    return {
        name: getattr(request, name) for name in request.__struct_fields__ if name not in OMITTED
    }
