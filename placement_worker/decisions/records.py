"""Decisions as they go into a log: the request, what the cloud answered, the version and the
reply.
"""

import datetime
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, Literal, Protocol

import msgspec

from placement_worker.cloud.intercepted import interceptor
from placement_worker.cloud.intercepted.recording import Answer, Recording
from placement_worker.cloud.ports import Clouds, OctaviaSettings
from placement_worker.contract.model import Wire
from placement_worker.decisions.masking import masked
from placement_worker.handlers.ports import Reply, Request

LOG = logging.getLogger(__name__)
Method = Literal['policy_check', 'policy_attach', 'policy_detach']
OCTAVIA_SETTINGS = ('batch_members', 'poll_initial_s', 'poll_max_s', 'max_attempts')
LEFT_OUT = frozenset({'credentials', 'reply_to'})


class Entry(Wire, frozen=True):
    """One line of the log.

    `at`: the time. `version`: of the worker. `max_nodes`: of a cluster, as was configured.
    `octavia_settings`: those in force. `request`: as JSON. `cloud`: in the order of asking.
    `clock`: what a clock said each time that something waited for a load balancer. `left_s`: how
    long the caller still waited, each time that it mattered. `reply`: as was sent.
    """

    at: datetime.datetime
    version: str
    request_id: str | None
    max_nodes: int
    octavia_settings: dict[str, Any] = msgspec.field(name='driving')
    method: Method
    request: msgspec.Raw
    cloud: list[Answer]
    clock: list[float]
    left_s: list[float]
    reply: dict[str, Any]


class Record(Protocol):
    """One decision that is being made, under these circumstances."""

    @property
    def max_nodes(self) -> int:
        """The most nodes that a creation may lead to."""

    @property
    def octavia_settings(self) -> OctaviaSettings:
        """The Octavia settings for this decision, with the clock to use."""

    def left_s(self, ask: Callable[[], float]) -> Callable[[], float]:
        """Tells how many seconds the caller still waits, as `ask` does; infinity for ever."""

    def watch(self, clouds: Clouds) -> Clouds:
        """The clouds to decide over."""

    def end(self, method: Method, request: Request, reply: Reply) -> None:
        """It was decided; never raises."""


class Recorder(Protocol):
    """Who keeps decisions."""

    def begin(
        self, request_id: str | None, at: datetime.datetime, max_nodes: int, octavia_settings: OctaviaSettings
    ) -> Record:
        """A decision is about to be made."""


class Forgetful:
    """As `Recorder`: keeps nothing."""

    def begin(
        self, request_id: str | None, at: datetime.datetime, max_nodes: int, octavia_settings: OctaviaSettings
    ) -> Record:
        """As `Recorder.begin`."""
        return _Nothing(max_nodes, octavia_settings)


@dataclass(frozen=True, slots=True)
class _Nothing:
    """As `Record`: changes and keeps nothing."""

    max_nodes: int
    octavia_settings: OctaviaSettings

    def left_s(self, ask: Callable[[], float]) -> Callable[[], float]:
        return ask

    def watch(self, clouds: Clouds) -> Clouds:
        return clouds

    def end(self, method: Method, request: Request, reply: Reply) -> None:
        pass


class DecisionLog:
    """As `Recorder`: a line of JSON a decision."""

    def __init__(self, append: Callable[[bytes], None]) -> None:
        """Say where the lines go.

        :param append: takes one line with its end; must not raise.
        """
        self._append = append
        self._version = metadata.version('placement-worker')

    def begin(
        self, request_id: str | None, at: datetime.datetime, max_nodes: int, octavia_settings: OctaviaSettings
    ) -> Record:
        """As `Recorder.begin`."""
        about = {'at': at, 'version': self._version, 'request_id': request_id}
        return _Line(self._append, about, max_nodes, octavia_settings)


class _Line:
    """As `Record`."""

    def __init__(
        self,
        append: Callable[[bytes], None],
        about: Mapping[str, Any],
        max_nodes: int,
        octavia_settings: OctaviaSettings,
    ) -> None:
        self._append = append
        self._about = about
        self._answers: list[Answer] = []
        self._clock: list[float] = []
        self._left: list[float] = []
        self._options = {name: getattr(octavia_settings, name) for name in OCTAVIA_SETTINGS}
        self.max_nodes = max_nodes
        self.octavia_settings = replace(
            octavia_settings, clock=_noting(octavia_settings.clock, self._clock)
        )

    def left_s(self, ask: Callable[[], float]) -> Callable[[], float]:
        return _noting(ask, self._left)

    def watch(self, clouds: Clouds) -> Clouds:
        return interceptor.Clouds(clouds, Recording(self._answers))

    def end(self, method: Method, request: Request, reply: Reply) -> None:
        try:
            line = self._line(method, request, reply)
        except Exception as exc:  # the cloud has been changed: whoever asked has to hear of it
            LOG.error(
                'The decision of request %s cannot be logged: %s', self._about['request_id'], exc
            )
        else:
            self._append(line + b'\n')

    def _line(self, method: Method, request: Request, reply: Reply) -> bytes:
        decision = {
            **self._about,
            'max_nodes': self.max_nodes,
            'driving': self._options,
            'method': method,
            'request': _kept(request),
            'cloud': self._answers,
            'clock': self._clock,
            'left_s': self._left,
            'reply': reply,
        }
        return masked(msgspec.json.encode(decision))


def _noting(ask: Callable[[], float], noted: list[float]) -> Callable[[], float]:
    """The same, with what it says appended to a list, but for infinity, which JSON lacks."""

    def asked() -> float:
        value = ask()
        if value != math.inf:
            noted.append(value)
        return value

    return asked


def _kept(request: Request) -> dict[str, Any]:
    """The fields of a request that a replay needs; the others have defaults."""
    return {
        name: getattr(request, name) for name in request.__struct_fields__ if name not in LEFT_OUT
    }
