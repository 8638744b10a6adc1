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
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct
from typing_extensions import override

from placement_worker.cloud.embedded.state_machine import StateMachine
from placement_worker.cloud.ports import ApiError, Kind, Octavia, Resource, collection, in_octavia

T = TypeVar('T')
# Those of octavia_lib/common/constants.py in octavia-lib 3.12.
OperatingStatus = Literal['ONLINE', 'OFFLINE', 'DEGRADED', 'ERROR', 'DRAINING', 'NO_MONITOR']
Call = Literal[
    'find', 'show', 'create', 'delete', 'members', 'create_member', 'update_members',
    'delete_member', 'any',
]  # fmt: skip
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
    kind: Kind | None = None
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


class OctaviaSimulator(Octavia):
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

    @override
    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        return self._call(
            'find', kind, lambda state: [item for item in state.all(kind) if _fits(item, filters)]
        )

    @override
    def show(self, kind: Kind, object_id: str) -> Resource:
        offered = {
            'flavor': self._settings.flavors,
            'availability_zone': self._settings.availability_zones,
        }.get(kind)
        if offered is None:
            return self._call('show', kind, lambda state: state.get(kind, object_id), object_id)
        return self._call('show', kind, lambda _: _offered(kind, object_id, offered), object_id)

    @override
    def create(self, kind: Kind, body: Resource) -> Resource:
        return self._call('create', kind, lambda state: state.create(kind, body, self._subnets))

    @override
    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        self._call(
            'delete', kind, lambda state: state.delete(kind, object_id, cascade=cascade), object_id
        )

    @override
    def members(self, pool_id: str) -> list[Resource]:
        probed = self._settings.member_status
        return self._call('members', None, lambda state: state.members(pool_id, probed), pool_id)

    @override
    def create_member(self, pool_id: str, member: Resource) -> Resource:
        return self._call(
            'create_member', None, lambda state: state.create_member(pool_id, member), pool_id
        )

    @override
    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        def act(state: StateMachine) -> None:
            state.update_members(pool_id, members, additive_only=additive_only)

        self._call('update_members', None, act, pool_id)

    @override
    def delete_member(self, pool_id: str, member_id: str) -> None:
        ids = pool_id, member_id
        self._call('delete_member', None, lambda state: state.delete_member(*ids), *ids)

    def _call(
        self, call: Call, kind: Kind | None, act: Callable[[StateMachine], T], *ids: str
    ) -> T:
        """Make a call, or fail if a fault applies to it; members have no kind."""
        with self._store.changing() as state:
            machine = StateMachine(
                state.setdefault(self._region, {}), self._now(), self._settings.pending_s
            )
            fault = self._fault(machine.data.setdefault('faults', {}), call, kind)
            try:
                return _faulty(fault, machine, act)
            except ApiError as exc:
                error = exc
        path = collection(kind, *ids) if kind else '/'.join(('pools', ids[0], 'members', *ids[1:]))
        # Inside the block this would discard the changes of the call.
        raise ApiError(
            in_octavia(_METHODS.get(call, 'GET'), path, error), error.status, error.retry_after_s
        )

    def _fault(self, seen: dict[str, int], call: Call, kind: Kind | None) -> Fault | None:
        """Return the first fault that applies, and count the call for each matching fault."""
        chosen = []
        for number, fault in enumerate(self._settings.fail):
            if fault.call in (call, 'any') and fault.kind in (kind, None):
                turn = seen.get(str(number), 0) - fault.skip
                seen[str(number)] = turn + fault.skip + 1
                if turn >= 0 and (fault.times < 0 or turn < fault.times):
                    chosen.append(fault)
        return chosen[0] if chosen else None


def _faulty(fault: Fault | None, machine: StateMachine, act: Callable[[StateMachine], T]) -> T:
    if fault is None:
        return act(machine)
    if fault.becomes is not None:
        result = act(machine)
        machine.fail_pending_changes()
        return result
    if fault.done:
        act(machine)
    message = fault.message or _MESSAGES.get(fault.status, f'Fault {fault.status}')
    raise ApiError(message, fault.status or None, fault.retry_after_s)


def _offered(kind: Kind, name: str, offered: Sequence[str]) -> Resource:
    if name not in offered:
        raise ApiError(f'{kind} {name} not found.', 404)
    return {'id': name, 'name': name}


def _fits(resource: Resource, filters: Mapping[str, Any]) -> bool:
    return all(
        set(wanted) <= set(resource.get(key) or ())
        if isinstance(wanted, list)
        else resource.get(key) == wanted
        for key, wanted in filters.items()
    )
