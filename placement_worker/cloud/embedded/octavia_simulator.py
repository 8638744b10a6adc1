"""A simulator of Octavia: the load balancers of the embedded cloud.

Each change makes a load balancer PENDING for a while; further changes are refused meanwhile. The
description of the cloud can inject faults::

    load_balancer:
      pending_s: 0.5                        # how long a change stays pending
      state: load-balancers.json            # default: in memory
      flavors: [small]
      availability_zones: [lb-az1]
      member_status: {10.0.0.5: ERROR}      # what health monitors find; default: ONLINE
      fail:
        - {call: create, kind: loadbalancer, status: 501, times: -1}    # each time
        - {call: update_members, status: 0, done: true}                 # once, the response is lost
        - {call: delete_member, becomes: ERROR, skip: 1}                # the second call fails
"""

import contextlib
import fcntl
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct
from typing_extensions import override

from placement_worker.cloud.embedded.state_machine import StateMachine
from placement_worker.cloud.ports import ApiError, ObjectKind, collection, in_octavia

T = TypeVar('T')
# Those of octavia_lib/common/constants.py in octavia-lib 3.12.
OperatingStatus = Literal['ONLINE', 'OFFLINE', 'DEGRADED', 'ERROR', 'DRAINING', 'NO_MONITOR']
Call = Literal[
    'find', 'show', 'create', 'delete', 'members', 'create_member', 'update_members',
    'delete_member', 'any',
]  # fmt: skip
_OF_A_KIND = ('find', 'show', 'create', 'delete')  # the other calls are about members
_METHODS = {
    'create': 'POST',
    'delete': 'DELETE',
    'create_member': 'POST',
    'update_members': 'PUT',
    'delete_member': 'DELETE',
}
_MESSAGES = {
    0: 'The connection broke',
    403: 'Quota has been met for resources: member',
    409: 'Load Balancer is immutable and cannot be updated.',
    429: 'Too many requests',
    501: 'The provider does not support the requested option',
    503: 'Octavia is busy',
}


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure to inject, and the calls to which it applies.

    :ivar status: the HTTP status of the response; 0 stands for no response.
    :ivar done: whether the call takes effect nevertheless.
    :ivar becomes: if set, the call succeeds but its load balancer ends in ERROR.
    :ivar skip: the number of calls that succeed before the first failure.
    :ivar times: the number of calls that fail then; -1 stands for all.
    :ivar message: the text of the response.
    """

    call: Call = 'any'
    kind: ObjectKind | None = None
    status: Annotated[int, Meta(ge=0, le=599)] = 500
    done: bool = False
    becomes: Literal['ERROR'] | None = None
    skip: Annotated[int, Meta(ge=0)] = 0
    times: Annotated[int, Meta(ge=-1)] = 1
    retry_after_s: float | None = None
    message: str | None = None


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The `load_balancer` section in the description of an embedded cloud.

    :ivar member_status: the operating status of members by address, for pools with a health
        monitor.
    """

    pending_s: Annotated[float, Meta(ge=0)] = 0
    fail: list[Fault] = []
    state: str | None = None
    flavors: list[str] = []
    availability_zones: list[str] = []
    member_status: dict[str, OperatingStatus] = {}


class Store(Protocol):
    """Plain data that one thread at a time can read and change."""

    def changing(self) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """Provide the data to a block, and store its changes unless the block raises an error."""


class MemoryStore(Store):
    """A store for one process; it keeps changes even if the block raises an error."""

    def __init__(self) -> None:
        self._state: dict[str, Any] = {}
        self._lock = threading.Lock()

    @override
    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        with self._lock:
            yield self._state


class FileStore(Store):
    """A store for several processes, any of which may be killed.

    Each change writes a new file and then renames it. Reading and writing raise OSError.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()

    @override
    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        with self._lock, open(f'{self._path}.lock', 'w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = self._path.read_bytes() if self._path.exists() else b'{}'
            state = msgspec.json.decode(before)
            yield state
            after = msgspec.json.encode(state)
            if after != before:
                new = self._path.with_name(f'{self._path.name}.{os.getpid()}')
                new.write_bytes(after)
                new.replace(self._path)


class OctaviaSimulator:
    """An `Octavia`; the state machine makes its calls, on the region's objects in the store."""

    def __init__(
        self,
        settings: Settings = Settings(),  # noqa: B008  # frozen
        store: Store | None = None,
        subnets: Mapping[str, str | None] | None = None,
        region: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Set the region and its state.

        :param subnets: id -> CIDR of the existing subnets; None accepts any subnet.
        :param now: returns seconds since 1970.
        """
        self._settings = settings
        self._store = store or MemoryStore()
        self._subnets = subnets
        self._region = region or ''
        self._now = now

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in get_args(Call):
            raise AttributeError(name)
        return functools.partial(self._call, name)

    def _call(self, name: str, /, *arguments: Any, **options: Any) -> Any:
        kind, *ids = arguments if name in _OF_A_KIND else (None, *arguments)
        settings = self._settings
        with self._store.changing() as state:
            machine = StateMachine(
                state.setdefault(self._region, {}),
                self._now(),
                settings.pending_s,
                subnets=self._subnets,
                offered={
                    'flavor': settings.flavors,
                    'availability_zone': settings.availability_zones,
                },
                member_status=settings.member_status,
            )
            fault = self._fault(machine.data.setdefault('faults', {}), name, kind)
            act = functools.partial(getattr(machine, name), *arguments, **options)
            try:
                return _faulty(fault, machine, act)
            except ApiError as exc:
                error = exc
        object_id, *others = [value for value in ids if isinstance(value, str)] or ['']
        path = collection(kind or 'pool', object_id) + '/members' * (kind is None)
        # Inside the block this would discard the changes of the call.
        raise ApiError(
            in_octavia(_METHODS.get(name, 'GET'), '/'.join((path, *others)), error),
            error.status,
            error.retry_after_s,
        )

    def _fault(self, seen: dict[str, int], call: str, kind: ObjectKind | None) -> Fault | None:
        """Return the first fault that applies, and count the call for each matching fault."""
        chosen = []
        for number, fault in enumerate(self._settings.fail):
            if fault.call in (call, 'any') and fault.kind in (kind, None):
                turn = seen.get(str(number), 0) - fault.skip
                seen[str(number)] = turn + fault.skip + 1
                if turn >= 0 and (fault.times < 0 or turn < fault.times):
                    chosen.append(fault)
        return chosen[0] if chosen else None


def _faulty(fault: Fault | None, machine: StateMachine, act: Callable[[], T]) -> T:
    if fault is None:
        return act()
    if fault.becomes is not None:
        result = act()
        machine.fail_pending_changes()
        return result
    if fault.done:
        act()
    message = fault.message or _MESSAGES.get(fault.status, f'Fault {fault.status}')
    raise ApiError(message, fault.status or None, fault.retry_after_s)
