"""Octavia's state machine without Octavia: the load balancers of the embedded cloud.

Every change makes a load balancer PENDING for a while and is refused meanwhile; faults are injected
as the description of the cloud says::

    load_balancer:
      pending_s: 0.5                        # how long a change stays pending
      state: load-balancers.json            # where they are kept; else in memory
      flavors: [small]
      availability_zones: [lb-az1]
      fail:
        - {call: create, kind: loadbalancer, status: 501, times: -1}    # always
        - {call: update_members, status: 0, done: true}                 # the answer is lost, once
        - {call: delete_member, becomes: ERROR, skip: 1}                # the second one breaks the load balancer

:source: Octavia 19, api/v2/controllers, for what is refused when and with which status.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from placement_worker.cloud.embedded.state_machine import StateMachine
from placement_worker.cloud.embedded.stores import MemoryStore, Store
from placement_worker.cloud.ports import ApiError, Kind, Resource

T = TypeVar('T')
Call = Literal[
    'find',
    'show',
    'create',
    'delete',
    'members',
    'create_member',
    'update_members',
    'delete_member',
    'any',
]
MESSAGES = {
    0: 'The connection broke',
    403: 'Quota has been met for resources: member',
    409: 'Load Balancer is immutable and cannot be updated.',
    429: 'Too many requests',
    501: 'The provider does not support the requested option',
    503: 'Octavia is busy',
}


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    """What goes wrong with which calls.

    `status`: of the answer; 0: none comes. `done`: whether the call has its effect nevertheless.
    `becomes`: the call is answered as it should be, but its load balancer ends in ERROR. `skip`:
    how many calls go well before; `times`: how many fail then; -1: all. `message`: the text of the
    answer.
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
    """The `load_balancer` part of an embedded cloud's description."""

    pending_s: Annotated[float, Meta(ge=0)] = 0
    fail: list[Fault] = []
    state: str | None = None
    flavors: list[str] = []
    availability_zones: list[str] = []


class OctaviaSimulator:
    """As `Octavia`.

    :param subnets: id -> CIDR, of the subnets that there are; None: any.
    :param region: the part of the store that is this one's.
    :param now: seconds since 1970.
    """

    def __init__(
        self,
        settings: Settings = Settings(),  # noqa: B008  # frozen
        store: Store | None = None,
        subnets: Mapping[str, str | None] | None = None,
        region: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._store = store or MemoryStore()
        self._subnets = subnets
        self._region = region or ''
        self._now = now

    def find(self, kind: Kind, **filters: Any) -> list[Resource]:
        """As `Octavia.find`."""
        return self._call(
            'find', kind, lambda state: [one for one in state.all(kind) if _fits(one, filters)]
        )

    def show(self, kind: Kind, object_id: str) -> Resource:
        """As `Octavia.show`."""
        offered = {
            'flavor': self._settings.flavors,
            'availability_zone': self._settings.availability_zones,
        }.get(kind)
        if offered is None:
            return self._call('show', kind, lambda state: state.get(kind, object_id))
        return self._call('show', kind, lambda _: _offered(kind, object_id, offered))

    def create(self, kind: Kind, body: Resource) -> Resource:
        """As `Octavia.create`."""
        return self._call('create', kind, lambda state: state.create(kind, body, self._subnets))

    def delete(self, kind: Kind, object_id: str, *, cascade: bool = False) -> None:
        """As `Octavia.delete`."""
        self._call('delete', kind, lambda state: state.delete(kind, object_id, cascade=cascade))

    def members(self, pool_id: str) -> list[Resource]:
        """As `Octavia.members`."""
        return self._call('members', None, lambda state: state.members(pool_id))

    def create_member(self, pool_id: str, member: Resource) -> Resource:
        """As `Octavia.create_member`."""
        return self._call('create_member', None, lambda state: state.create_member(pool_id, member))

    def update_members(
        self, pool_id: str, members: Sequence[Resource], *, additive_only: bool
    ) -> None:
        """As `Octavia.update_members`."""
        self._call(
            'update_members',
            None,
            lambda state: state.update_members(pool_id, members, additive_only=additive_only),
        )

    def delete_member(self, pool_id: str, member_id: str) -> None:
        """As `Octavia.delete_member`."""
        self._call('delete_member', None, lambda state: state.delete_member(pool_id, member_id))

    def _call(self, call: Call, kind: Kind | None, act: Callable[[StateMachine], T]) -> T:
        """Have one call done, or fail as the next fault says."""
        with self._store.changing() as state:
            machine = StateMachine(
                state.setdefault(self._region, {}), self._now(), self._settings.pending_s
            )
            fault = self._fault(machine.data.setdefault('faults', {}), call, kind)
            try:
                answer = _faulty(fault, machine, act)
            except ApiError as exc:
                refusal = exc
            else:
                return answer
        raise refusal

    def _fault(self, seen: dict[str, int], call: Call, kind: Kind | None) -> Fault | None:
        """The first fault whose turn it is; every one counts the calls that it is about."""
        chosen = None
        for number, fault in enumerate(self._settings.fail):
            if fault.call not in (call, 'any') or (fault.kind is not None and fault.kind != kind):
                continue
            turn = seen.get(str(number), 0)
            seen[str(number)] = turn + 1
            if (
                chosen is None
                and turn >= fault.skip
                and (fault.times < 0 or turn < fault.skip + fault.times)
            ):
                chosen = fault
        return chosen


def _faulty(fault: Fault | None, machine: StateMachine, act: Callable[[StateMachine], T]) -> T:
    if fault is None:
        return act(machine)
    if fault.becomes is not None:
        answer = act(machine)
        machine.fail_pending_changes()
        return answer
    if fault.done:
        act(machine)
    message = fault.message or MESSAGES.get(fault.status, f'Fault {fault.status}')
    raise ApiError(message, fault.status or None, fault.retry_after_s)


def _offered(kind: Kind, name: str, offered: Sequence[str]) -> Resource:
    """What operators offer by this name."""
    if name not in offered:
        raise ApiError(f'{kind} {name} not found.', 404)
    return {'id': name, 'name': name}


def _fits(shown: Resource, filters: Mapping[str, Any]) -> bool:
    return all(
        set(wanted) <= set(shown.get(key) or ())
        if isinstance(wanted, list)
        else shown.get(key) == wanted
        for key, wanted in filters.items()
    )
